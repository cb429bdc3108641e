//! All timers of the library in one place.
//!
//! Nearly every timer is dropped before it fires, as the answer that it bounds arrives first. Each
//! timer of tokio that is set from another thread would wake the thread that owns it. Here one task
//! sleeps until the earliest moment, and wakes what is due.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
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

#[derive(Default)]
struct TimersState {
    /// The timers that are set, by their moments and numbers. No other timer has the number of one.
    wakers: BTreeMap<(Moment, u64), Waker>,
    last_number: u64,
    /// The task looks at this time or earlier. `None` while no timer is set.
    looks_at: Option<Moment>,
}

impl TimersState {
    /// Sets a timer. Returns its number, and true if the task has to be told, as it would look too late.
    fn insert(&mut self, at: Moment, waker: Waker) -> (u64, bool) {
        self.last_number += 1;
        self.wakers.insert((at, self.last_number), waker);
        let is_earlier = self.looks_at.is_none_or(|looks_at| at < looks_at);
        if is_earlier {
            self.looks_at = Some(at);
        }
        (self.last_number, is_earlier)
    }

    /// Takes out the timers that are due, and sets the time of the next look.
    fn take_due(&mut self, now: Moment) -> BTreeMap<(Moment, u64), Waker> {
        let later = self.wakers.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut self.wakers, later);
        self.looks_at = self.wakers.keys().next().map(|(at, _)| *at);
        due
    }
}

impl Timekeeper {
    pub(crate) fn new(now: Now) -> Arc<Self> {
        Arc::new(Self {
            now,
            state: Mutex::default(),
            earlier: Notify::new(),
        })
    }

    /// Wakes all due timers, while it is polled. One task runs it, with tokio's timer.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            let now = (self.now)();
            let (due, next) = {
                let mut state = self.state.lock();
                (state.take_due(now), state.looks_at)
            };
            // Outside of the mutex: a waker may run any code.
            due.into_values().for_each(wake);
            match next {
                None => self.earlier.notified().await,
                Some(next) => {
                    let nap = next.saturating_since(now).min(LONGEST_NAP);
                    // Both are reasons to look.
                    let _ = tokio::time::timeout(nap, self.earlier.notified()).await;
                }
            }
        }
    }
}

/// Wakes a caller. A panic of its executor must not end the task that all other timers need.
pub(crate) fn wake(waker: Waker) {
    caught("a waker", || waker.wake());
}

/// Completes at its moment. Dropping it removes it from the timekeeper. It holds the timekeeper through `K`,
/// so that all that the timer needs lives as long as the timer.
pub(crate) struct Timer<K: AsRef<Timekeeper>> {
    keeper: K,
    at: Moment,
    /// Once it is set.
    number: Option<u64>,
}

impl<K: AsRef<Timekeeper>> Timer<K> {
    pub(crate) fn new(keeper: K, at: Moment) -> Self {
        let number = None;
        Self { keeper, at, number }
    }
}

impl<K: AsRef<Timekeeper> + Unpin> Future for Timer<K> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let keeper = this.keeper.as_ref();
        // The first poll reads no clock, as nearly all timers are set for later. The task wakes the others at
        // once.
        if this.number.is_some() && (keeper.now)() >= this.at {
            return Poll::Ready(());
        }
        // Dropped outside of the mutex: it may be the last handle of its task.
        let mut replaced = None;
        let is_earlier = {
            let mut state = keeper.state.lock();
            let waker = context.waker();
            let known = this.number.map(|number| (this.at, number));
            let known = known.and_then(|timer| state.wakers.get_mut(&timer));
            if let Some(known) = known {
                if !known.will_wake(waker) {
                    replaced = Some(std::mem::replace(known, waker.clone()));
                }
                false
            } else {
                let (number, is_earlier) = state.insert(this.at, waker.clone());
                this.number = Some(number);
                is_earlier
            }
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
        if let Some(number) = self.number {
            // The waker is dropped outside of the mutex: it may be the last handle of its task.
            let keeper = self.keeper.as_ref();
            let _waker = keeper.state.lock().wakers.remove(&(self.at, number));
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

    const fn second(second: u64) -> Moment {
        Moment::from_origin(Duration::from_secs(second))
    }

    fn set(keeper: &Arc<Timekeeper>, at: Moment) -> Pin<Box<Timer<Arc<Timekeeper>>>> {
        let mut timer = Box::pin(Timer::new(Arc::clone(keeper), at));
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            assert!(timer.as_mut().poll(&mut context).is_pending());
        }
        timer
    }

    #[test]
    fn a_timer_that_is_dropped_is_forgotten() {
        let keeper = Timekeeper::new(|| second(0));
        let kept = || keeper.state.lock().wakers.len();
        let (first, last) = (set(&keeper, second(1)), set(&keeper, second(2)));
        assert_eq!(kept(), 2);
        drop(last);
        assert_eq!(kept(), 1);
        assert_eq!(keeper.state.lock().take_due(second(1)).len(), 1);
        drop(first);
        assert_eq!(kept(), 0);
    }
}
