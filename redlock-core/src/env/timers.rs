//! All timers of the library in one place.
//!
//! Nearly every timer is dropped before it fires, as the answer that it bounds arrives first. Each
//! timer of tokio that is set from another thread would wake the thread that owns it. Here one task
//! sleeps until the earliest moment, looks at the timers, and wakes what is due. A timer that is later
//! than the task's next look is put in order only at that look: most are dropped before.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::num::NonZeroU64;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use slab::Slab;
use tokio::sync::Notify;

use super::Moment;
use super::caught::caught;

/// The longest sleep of the task while any timer is set. The task's own timer stops while the host is
/// suspended, but the moments of the timers do not.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// The most timers that are left for the task's look to put in order. The look holds the mutex while it does so.
const MOST_UNSORTED: usize = 1024;

/// Reads the clock of the moments.
type Now = fn() -> Moment;

pub(crate) struct Timekeeper {
    now: Now,
    state: Mutex<TimersState>,
    /// Tells the task of a timer that is earlier than its next look.
    earlier: Notify,
}

struct TimersState {
    sorted: BTreeMap<(Moment, NonZeroU64), Waker>,
    /// Timers that were set since the last look and are not due before the next one.
    unsorted: Slab<Unsorted>,
    last_number: u64,
    /// The task looks at this time or earlier. `None` while no timer is set.
    looks_at: Option<Moment>,
}

struct Unsorted {
    at: Moment,
    number: NonZeroU64,
    waker: Waker,
}

/// Names a timer, wherever it is kept.
#[derive(Clone, Copy)]
struct TimerId {
    /// No other timer has this number.
    number: NonZeroU64,
    /// Where the timer was among the unsorted ones when it was set. If another number is there, the timer is sorted
    /// or has fired.
    slot: u32,
}

impl TimersState {
    /// Returns true if the task has to be told, as it would look too late.
    fn insert(&mut self, at: Moment, waker: Waker) -> (TimerId, bool) {
        self.last_number += 1;
        let number = NonZeroU64::new(self.last_number).unwrap_or(NonZeroU64::MIN);
        let is_later = self.looks_at.is_some_and(|looks_at| looks_at <= at);
        if is_later && self.unsorted.len() < MOST_UNSORTED {
            let slot = self.unsorted.insert(Unsorted { at, number, waker });
            #[expect(clippy::cast_possible_truncation, reason = "there are few")]
            let slot = slot as u32;
            return (TimerId { number, slot }, false);
        }
        self.sorted.insert((at, number), waker);
        if !is_later {
            self.looks_at = Some(at);
        }
        let slot = u32::MAX;
        (TimerId { number, slot }, !is_later)
    }

    fn waker(&mut self, at: Moment, id: TimerId) -> Option<&mut Waker> {
        match self.unsorted.get_mut(id.slot as usize) {
            Some(timer) if timer.number == id.number => Some(&mut timer.waker),
            _ => self.sorted.get_mut(&(at, id.number)),
        }
    }

    fn remove(&mut self, at: Moment, id: TimerId) -> Option<Waker> {
        match self.unsorted.get(id.slot as usize) {
            Some(timer) if timer.number == id.number => {
                Some(self.unsorted.remove(id.slot as usize).waker)
            }
            _ => self.sorted.remove(&(at, id.number)),
        }
    }

    /// Puts all timers in order. Returns those that are due, and sets the time of the next look.
    fn look(&mut self, now: Moment) -> BTreeMap<(Moment, NonZeroU64), Waker> {
        for timer in self.unsorted.drain() {
            self.sorted.insert((timer.at, timer.number), timer.waker);
        }
        let later = self.sorted.split_off(&(now, NonZeroU64::MAX));
        let due = std::mem::replace(&mut self.sorted, later);
        self.looks_at = self.sorted.keys().next().map(|(at, _)| *at);
        due
    }
}

impl Timekeeper {
    pub(crate) fn new(now: Now) -> Arc<Self> {
        let state = TimersState {
            sorted: BTreeMap::new(),
            unsorted: Slab::new(),
            last_number: 0,
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
                (state.look(now), state.looks_at)
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

/// Completes at its moment. Dropping it removes it from the timekeeper. It holds the timekeeper through `K`,
/// so that all that the timer needs lives as long as the timer.
pub(crate) struct Timer<K: AsRef<Timekeeper>> {
    keeper: K,
    at: Moment,
    /// Once it is set.
    id: Option<TimerId>,
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
            let known = this.id.and_then(|id| state.waker(this.at, id));
            if let Some(known) = known {
                if !known.will_wake(waker) {
                    replaced = Some(std::mem::replace(known, waker.clone()));
                }
                false
            } else {
                let (id, is_earlier) = state.insert(this.at, waker.clone());
                this.id = Some(id);
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
        if let Some(id) = self.id {
            // The waker is dropped outside of the mutex: it may be the last handle of its task.
            let keeper = self.keeper.as_ref();
            let _waker = keeper.state.lock().remove(self.at, id);
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

    /// The numbers of timers in order, and of those that are not.
    fn kept(keeper: &Timekeeper) -> (usize, usize) {
        let state = keeper.state.lock();
        (state.sorted.len(), state.unsorted.len())
    }

    #[test]
    fn a_timer_that_is_dropped_is_forgotten() {
        let keeper = Timekeeper::new(|| second(0));
        let first = set(&keeper, second(1));
        let dropped_late = set(&keeper, second(3));
        let dropped_soon = set(&keeper, second(2));
        assert_eq!(kept(&keeper), (1, 2));
        drop(dropped_soon);
        assert_eq!(kept(&keeper), (1, 1));
        assert!(keeper.state.lock().look(second(0)).is_empty());
        assert_eq!(kept(&keeper), (2, 0));
        // It takes the place that the other one had before it was put in order.
        let last = set(&keeper, second(4));
        drop(dropped_late);
        assert_eq!(kept(&keeper), (1, 1));
        drop((first, last));
        assert_eq!(kept(&keeper), (0, 0));
    }

    #[test]
    fn a_look_puts_few_timers_in_order() {
        let keeper = Timekeeper::new(|| second(0));
        let timers: Vec<_> = (0..=MOST_UNSORTED + 7)
            .map(|_| set(&keeper, second(1)))
            .collect();
        assert_eq!(kept(&keeper), (8, MOST_UNSORTED));
        assert_eq!(keeper.state.lock().look(second(1)).len(), timers.len());
        drop(timers);
        assert_eq!(kept(&keeper), (0, 0));
    }
}
