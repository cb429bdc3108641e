//! Which runtime the callers of a node are in, and which one serves its connection.

use std::task::Waker;

use tokio::runtime::{Handle, Id};

/// The number of operations in a row, all from one runtime and each of them sent while no other was, after
/// which the connection is lent to that runtime.
const STREAK: u32 = 16;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Loan {
    /// True if the driver found nothing to do at its last looks.
    pub(super) is_calm: bool,
    /// The runtime of the last operations that met a calm driver, and their number in a row.
    streak: Option<(Id, u32)>,
    /// The runtime that the connection is to be lent to.
    pub(super) wanted: Option<Handle>,
    /// The runtime that the connection is lent to, and the driver that lent it.
    lent: Option<(Id, Waker)>,
    pub(super) is_recalled: bool,
}

impl Loan {
    /// Records that the current thread submits an operation. Returns the driver to wake, if the connection
    /// is lent to another runtime: its thread may stand still, and must not delay others.
    pub(super) fn used(&mut self) -> Option<Waker> {
        let is_calm = std::mem::take(&mut self.is_calm);
        if let Some((id, driver)) = &self.lent {
            if self.is_recalled || Handle::try_current().is_ok_and(|handle| handle.id() == *id) {
                return None;
            }
            self.is_recalled = true;
            return Some(driver.clone());
        }
        if !is_calm {
            return None;
        }
        let Ok(runtime) = Handle::try_current() else {
            self.streak = None;
            return None;
        };
        let id = runtime.id();
        let before = self.streak.filter(|(last, _)| *last == id);
        let count = before.map_or(0, |(_, count)| count) + 1;
        if count == STREAK {
            self.wanted = Some(runtime);
        }
        self.streak = Some((id, count));
        None
    }

    pub(super) fn lent(&mut self, runtime: Id, driver: Waker) {
        self.lent = Some((runtime, driver));
        self.is_recalled = false;
    }

    #[cfg(test)]
    pub(super) fn is_lent(&self) -> bool {
        self.lent.is_some()
    }

    /// Records that the driver serves the connection again.
    pub(super) fn returned(&mut self) {
        *self = Self::default();
    }
}
