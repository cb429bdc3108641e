//! Few log lines about what happens many times.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{Clock, Moment};

/// The most causes that are told apart at a time. All further ones are one cause.
const MOST_CAUSES: usize = 256;

/// Lets a few log lines of each cause pass and holds the others back, whose number comes with the next line of the
/// cause. A fault of a node concerns all leases at once. See [`log_throttled!`].
pub struct Throttle {
    clock: Arc<dyn Clock>,
    lines: u32,
    every: Duration,
    /// By the hash of the cause.
    causes: Mutex<BTreeMap<u64, Passing>>,
}

#[derive(Clone, Copy, Default)]
struct Passing {
    /// The lines that may pass before `full_at`.
    left: u32,
    full_at: Moment,
    held_back: u64,
}

impl Throttle {
    /// A line a second of each cause.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_pace(1, Duration::from_secs(1), clock)
    }

    /// That many `lines` of each cause in a time. While there are more, one.
    pub(crate) fn with_pace(lines: u32, every: Duration, clock: Arc<dyn Clock>) -> Self {
        let causes = Mutex::default();
        Self {
            clock,
            lines,
            every,
            causes,
        }
    }

    /// The number of lines of this cause that were held back since the last one, if this line may be written; `None`
    /// if it is held back too.
    pub fn pass(&self, cause: impl Hash) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        cause.hash(&mut hasher);
        let (mut key, now) = (hasher.finish(), self.clock.now());
        let mut causes = self.causes.lock();
        if causes.len() >= MOST_CAUSES && !causes.contains_key(&key) {
            causes.retain(|_, it| it.full_at > now);
            if causes.len() >= MOST_CAUSES {
                key = 0;
            }
        }
        let passing = causes.entry(key).or_default();
        if now >= passing.full_at {
            let is_calm = passing.held_back == 0;
            passing.left = if is_calm { self.lines } else { 1 };
            passing.full_at = now.saturating_add(self.every);
        }
        if passing.left == 0 {
            passing.held_back += 1;
            return None;
        }
        passing.left -= 1;
        Some(std::mem::take(&mut passing.held_back))
    }
}

impl fmt::Debug for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Throttle").finish_non_exhaustive()
    }
}

/// An event in the log, if a [`Throttle`](crate::env::Throttle) lets it pass:
/// `log_throttled!(&throttle, about, WARN, "text", field = 1)`. Its cause is its text and what it is about, and the
/// field `held_back` has the number of those that were held back before it, if any. Those are in the log at debug.
/// Without a throttle, `None`, no line is held back. The value is true if the line passed.
#[doc(hidden)]
#[macro_export]
macro_rules! log_throttled {
    ($throttle:expr, $about:expr, $level:ident, $text:literal, $($field:tt)+) => {{
        let throttle: Option<&$crate::env::Throttle> = $throttle.into();
        // An event that no subscriber wants is not counted either.
        let is_wanted = || tracing::enabled!(tracing::Level::$level);
        let is_wanted = $crate::env::caught("a log subscriber", is_wanted) == Some(true);
        macro_rules! event {
            ($at:ident, $held_back:expr) => {
                $crate::env::caught("a log subscriber", || {
                    tracing::event!(
                        tracing::Level::$at,
                        $($field)+, held_back = $held_back,
                        $text,
                    );
                })
            };
        }
        let pass = || throttle.map_or(Some(0), |it| it.pass(($text, $about)));
        match is_wanted.then(pass) {
            Some(Some(held_back)) => {
                event!($level, (held_back > 0).then_some(held_back));
                true
            }
            Some(None) => {
                event!(DEBUG, None::<u64>);
                false
            }
            None => false,
        }
    }};
}
pub use log_throttled;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::still_clock::still_clock;

    #[test]
    fn a_line_a_second_says_how_many_were_held_back_before_it() {
        let (clock, as_clock) = still_clock();
        let throttle = Throttle::new(as_clock);
        let (mut events, mut told, mut lines) = (0, 0, Vec::new());
        for step in 0..5000_u64 {
            clock.advance(Duration::from_millis(step % 5));
            events += 1;
            if let Some(held_back) = throttle.pass("a") {
                told += 1 + held_back;
                assert_eq!(told, events);
                lines.push(clock.now());
            }
        }
        let pauses = lines.windows(2).map(|two| two[1].saturating_since(two[0]));
        let pauses: Vec<_> = pauses.map(|it| it.as_millis()).collect();
        assert!(pauses.len() >= 8 && pauses.iter().all(|it| (1000..1005).contains(it)));
    }

    #[test]
    fn a_pace_of_several_lines_is_one_line_while_there_are_more() {
        let (clock, as_clock) = still_clock();
        let throttle = Throttle::with_pace(12, Duration::from_secs(60), as_clock);
        let mut passed = Vec::new();
        // Ten times a second, for five minutes.
        for tenth in 0..3000 {
            passed.extend(throttle.pass("a").map(|held_back| (tenth, held_back)));
            clock.advance(Duration::from_millis(100));
        }
        let burst = (0..12).map(|tenth| (tenth, 0));
        let after = [(600, 588), (1200, 599), (1800, 599), (2400, 599)];
        assert_eq!(passed, burst.chain(after).collect::<Vec<_>>());
    }

    #[test]
    fn many_causes_take_no_more_memory_than_some() {
        let (clock, as_clock) = still_clock();
        let throttle = Throttle::new(as_clock);
        let passed = |numbers: std::ops::Range<usize>| {
            let passes = |number: &usize| throttle.pass(number).is_some();
            numbers.filter(passes).count()
        };
        let known = || throttle.causes.lock().len();
        // The rest is one cause.
        assert_eq!(passed(0..10 * MOST_CAUSES), MOST_CAUSES + 1);
        assert_eq!(known(), MOST_CAUSES + 1);
        // Causes that are quiet for a second make room.
        clock.advance(Duration::from_secs(1));
        assert_eq!(passed(10 * MOST_CAUSES..11 * MOST_CAUSES), MOST_CAUSES);
        assert_eq!(known(), MOST_CAUSES);
    }
}
