//! All timers of the library in one place.
//!
//! Nearly every timer is dropped before it fires, as the answer that it bounds arrives first. Each
//! timer of tokio that is set from another thread would wake the thread that owns it. Here one task
//! sleeps until the earliest moment, and a later timer costs only an entry in a map.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Moment;
use super::caught::caught;

/// The longest sleep of the task while any timer is set. The task's own timer stops while the host is
/// suspended, but the moments of the timers do not.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// Reads the clock of the moments.
type Now = fn() -> Moment;

pub(crate) struct Timekeeper {
    now: Now,
    state: Mutex<TimersState>,
    /// Tells the task of a timer that is earlier than its next look.
    earlier: Notify,
}

struct TimersState {
    sleepers: BTreeMap<(Moment, u64), Waker>,
    next_id: u64,
    /// The time of the task's next look; `None` while no timer is set.
    looks_at: Option<Moment>,
}

impl Timekeeper {
    pub(crate) fn new(now: Now) -> Arc<Self> {
        let state = TimersState {
            sleepers: BTreeMap::new(),
            next_id: 0,
            looks_at: None,
        };
        Arc::new(Self {
            now,
            state: Mutex::new(state),
            earlier: Notify::new(),
        })
    }

    /// Wakes all due timers, while it is polled. One task runs it, with tokio's timer.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            let now = (self.now)();
            let (due, next) = {
                let mut state = self.state.lock();
                let later = state.sleepers.split_off(&(now, u64::MAX));
                let due = std::mem::replace(&mut state.sleepers, later);
                state.looks_at = state.sleepers.keys().next().map(|(at, _)| *at);
                (due, state.looks_at)
            };
            // Outside of the mutex: a waker may run any code.
            due.into_values().for_each(wake);
            match next {
                None => self.earlier.notified().await,
                Some(next) => {
                    let nap = next.saturating_since(now).min(LONGEST_NAP);
                    let mut nap = pin!(tokio::time::sleep(nap));
                    let mut earlier = pin!(self.earlier.notified());
                    poll_fn(|context| {
                        if earlier.as_mut().poll(context).is_ready() {
                            return Poll::Ready(());
                        }
                        nap.as_mut().poll(context)
                    })
                    .await;
                }
            }
        }
    }
}

/// Wakes a caller. A panic of its executor must not end the task that all other timers need.
pub(crate) fn wake(waker: Waker) {
    caught("a waker", || waker.wake());
}

/// Completes at its moment. Dropping it removes it from the map. It holds the timekeeper through `K`,
/// so that all that the timer needs lives as long as the timer.
pub(crate) struct Timer<K: AsRef<Timekeeper>> {
    keeper: K,
    at: Moment,
    /// Its id in the map, once it is there.
    id: Option<u64>,
}

impl<K: AsRef<Timekeeper>> Timer<K> {
    pub(crate) fn new(keeper: K, at: Moment) -> Self {
        let id = None;
        Self { keeper, at, id }
    }
}

impl<K: AsRef<Timekeeper> + Unpin> Future for Timer<K> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let keeper = this.keeper.as_ref();
        // The first poll reads no clock, as nearly all timers are set for later. The task wakes the others at
        // once.
        if this.id.is_some() && (keeper.now)() >= this.at {
            return Poll::Ready(());
        }
        // Dropped outside of the mutex: it may be the last handle of its task.
        let mut replaced = None;
        let is_earlier = {
            let mut state = keeper.state.lock();
            let waker = context.waker();
            if let Some(id) = this.id
                && let Some(known) = state.sleepers.get_mut(&(this.at, id))
            {
                if !known.will_wake(waker) {
                    replaced = Some(std::mem::replace(known, waker.clone()));
                }
            } else {
                let id = this.id.unwrap_or_else(|| {
                    state.next_id += 1;
                    state.next_id
                });
                this.id = Some(id);
                state.sleepers.insert((this.at, id), waker.clone());
            }
            let is_earlier = state.looks_at.is_none_or(|looks_at| this.at < looks_at);
            if is_earlier {
                state.looks_at = Some(this.at);
            }
            is_earlier
        };
        drop(replaced);
        if is_earlier {
            keeper.earlier.notify_one();
        }
        Poll::Pending
    }
}

impl<K: AsRef<Timekeeper>> Drop for Timer<K> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            // The waker is dropped outside of the mutex: it may be the last handle of its task.
            let keeper = self.keeper.as_ref();
            let _waker = keeper.state.lock().sleepers.remove(&(self.at, id));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use tokio::time::Instant;

    use super::*;

    /// Tokio's clock, paused by a test: it moves on only when all tasks wait.
    fn paused() -> Moment {
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        Moment::from_origin(BEGAN.get_or_init(Instant::now).elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn timers_fire_in_their_order_whatever_the_order_they_were_set_in() {
        let keeper = Timekeeper::new(paused);
        tokio::spawn(Arc::clone(&keeper).run());
        let (fired, mut order) = tokio::sync::mpsc::unbounded_channel();
        for ms in [40, 10, 30, 0, 20] {
            let at = paused().saturating_add(Duration::from_millis(ms));
            let (timer, fired) = (Timer::new(Arc::clone(&keeper), at), fired.clone());
            tokio::spawn(async move {
                timer.await;
                fired.send(ms).unwrap();
            });
        }
        drop(fired);
        let mut heard = Vec::new();
        while let Some(ms) = order.recv().await {
            heard.push(ms);
        }
        assert_eq!(heard, [0, 10, 20, 30, 40]);
    }

    #[test]
    fn a_timer_that_is_dropped_is_forgotten() {
        let keeper = Timekeeper::new(|| Moment::from_origin(Duration::ZERO));
        let at = Moment::from_origin(Duration::from_secs(1));
        let mut timer = Box::pin(Timer::new(Arc::clone(&keeper), at));
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            assert!(timer.as_mut().poll(&mut context).is_pending());
        }
        assert_eq!(keeper.state.lock().sleepers.len(), 1);
        drop(timer);
        assert!(keeper.state.lock().sleepers.is_empty());
    }
}
