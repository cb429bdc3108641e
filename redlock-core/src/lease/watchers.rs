//! The tasks that wait for the end of a lease, or for another change of it.

use std::collections::BTreeMap;
use std::task::Waker;

use crate::env::caught::wake;

/// The wakers of a lease's bodies, and of the callers of `lost` and `expiring`. A lease nearly always has one body
/// and no such caller: the first waker takes no allocation.
#[derive(Default)]
pub(crate) struct Watchers {
    last_id: u32,
    /// The id of `first`; zero if there never was one.
    first_id: u32,
    first: Option<Waker>,
    #[expect(
        clippy::box_collection,
        reason = "most leases have none: one word in place of three"
    )]
    others: Option<Box<BTreeMap<u32, Waker>>>,
}

impl Watchers {
    /// Has `waker` woken in place of the earlier waker under `id`. Returns the earlier waker, to be dropped without
    /// the lease's mutex.
    pub(super) fn set(&mut self, id: &mut Option<u32>, waker: &Waker) -> Option<Waker> {
        let known = id.and_then(|id| self.find(id));
        if let Some(known) = known {
            let is_same = known.will_wake(waker);
            return (!is_same).then(|| std::mem::replace(known, waker.clone()));
        }
        // Zero is no id. One that comes again after four thousand million others is that of no live body.
        self.last_id = self.last_id.checked_add(1).unwrap_or(1);
        *id = Some(self.last_id);
        if self.first.is_none() {
            self.first_id = self.last_id;
            self.first = Some(waker.clone());
        } else {
            let others = self.others.get_or_insert_default();
            others.insert(self.last_id, waker.clone());
        }
        None
    }

    fn find(&mut self, id: u32) -> Option<&mut Waker> {
        if self.first_id == id {
            return self.first.as_mut();
        }
        self.others.as_mut()?.get_mut(&id)
    }

    /// Returns the waker, to be dropped without the lease's mutex.
    pub(super) fn remove(&mut self, id: u32) -> Option<Waker> {
        if self.first_id == id {
            return self.first.take();
        }
        self.others.as_mut()?.remove(&id)
    }

    /// Takes all of them out, to be woken without the lease's mutex.
    pub(super) fn take(&mut self) -> Self {
        let last_id = self.last_id;
        let taken = std::mem::take(self);
        self.last_id = last_id;
        taken
    }

    pub(super) fn wake(self) {
        let others = self
            .others
            .into_iter()
            .flat_map(|others| others.into_values());
        self.first.into_iter().chain(others).for_each(wake);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn each_body_that_waits_is_woken_once_by_its_last_waker() {
        let mut watchers = Watchers::default();
        let counts: [Arc<Wakes>; 4] = Default::default();
        let wakers = counts.clone().map(Waker::from);
        let mut ids = [None; 3];
        for (id, waker) in ids.iter_mut().zip(&wakers) {
            assert!(watchers.set(id, waker).is_none());
            assert!(watchers.set(id, waker).is_none(), "it is there already");
        }
        // The second body is polled by another task from now on, and the third one has ended.
        assert!(watchers.set(&mut ids[1], &wakers[3]).is_some());
        assert!(watchers.remove(ids[2].unwrap()).is_some());
        assert!(watchers.remove(ids[2].unwrap()).is_none());
        watchers.take().wake();
        let woken = counts.each_ref().map(|it| it.0.load(Ordering::Relaxed));
        assert_eq!(woken, [1, 0, 0, 1]);

        // A body that goes on waiting is there again.
        assert!(watchers.set(&mut ids[0], &wakers[0]).is_none());
        assert!(watchers.set(&mut ids[1], &wakers[1]).is_none());
        assert!(watchers.remove(ids[0].unwrap()).is_some());
        watchers.take().wake();
        let woken = counts.each_ref().map(|it| it.0.load(Ordering::Relaxed));
        assert_eq!(woken, [1, 1, 0, 1]);
    }
}
