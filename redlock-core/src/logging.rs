//! The library's log: it limits repeated lines, and survives a subscriber that panics.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::debug::debug_in_part;
use crate::env::{Clock, Moment};

/// The time in which a cause gets one log line.
const PACE: Duration = Duration::from_secs(1);

/// Limits log lines to one a second for each cause. A fault of a node concerns many leases at once. The number of
/// suppressed lines comes with the next line of their cause. See [`log_throttled!`].
pub struct Throttle {
    clock: Arc<dyn Clock>,
    /// The moment of the next line and the number of suppressed lines, by the cause's hash. The map stays small,
    /// because each function with a lock has only a few causes.
    causes: Mutex<BTreeMap<u64, (Moment, u64)>>,
}

impl Throttle {
    /// Makes a throttle that reads the time from `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let causes = Mutex::default();
        Self { clock, causes }
    }

    /// Decides whether a log line with this cause may be written. Returns the number of lines suppressed since the last
    /// one, or `None` to suppress this one as well.
    pub fn pass(&self, cause: impl Hash) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        cause.hash(&mut hasher);
        let now = self.clock.now();
        let mut causes = self.causes.lock();
        let (passes_at, held_back) = causes.entry(hasher.finish()).or_default();
        if now < *passes_at {
            *held_back += 1;
            return None;
        }
        *passes_at = now.saturating_add(PACE);
        Some(std::mem::take(held_back))
    }
}

debug_in_part!(Throttle);

/// Writes a log event, if a [`Throttle`] lets it pass. Call it as
/// `log_throttled!(target: targets::LOCK, &throttle, about, WARN, "text", field = 1)`. The event's cause is its text
/// together with `about`. The field `held_back` has the number of suppressed events before it, if there are any; those
/// are logged at debug. Without a throttle, `None`, every event passes. The macro's value is true if the event passed.
#[doc(hidden)]
#[macro_export]
macro_rules! log_throttled {
    (target: $target:expr, $throttle:expr, $about:expr, $level:ident, $text:literal, $($field:tt)+) => {{
        let throttle: Option<&$crate::internal::Throttle> = $throttle.into();
        macro_rules! log_at {
            ($at:ident, $held_back:expr) => {
                tracing::event!(
                    target: $target, tracing::Level::$at, $($field)+, held_back = $held_back, $text
                )
            };
        }
        // Count only events that a subscriber wants.
        let is_wanted = tracing::enabled!(target: $target, tracing::Level::$level);
        let pass = || throttle.map_or(Some(0), |it| it.pass(($text, $about)));
        match is_wanted.then(pass) {
            Some(Some(held_back)) => {
                log_at!($level, (held_back > 0).then_some(held_back));
                true
            }
            Some(None) => {
                log_at!(DEBUG, None::<u64>);
                false
            }
            None => false,
        }
    }};
}
pub use log_throttled;

/// Writes a log event, and catches a panic of the subscriber: `log_caught!(warn!("text"))`. Drops, drivers, renewals,
/// signals and shutdowns use this macro, because a panic would do harm there. Elsewhere a panic unwinds into the
/// caller. The value is `None` after a panic.
#[doc(hidden)]
#[macro_export]
macro_rules! log_caught {
    ($event:expr) => {
        $crate::internal::caught("a log subscriber", || $event)
    };
}
pub use log_caught;

/// The log of one node, across all its connections.
#[derive(Debug)]
pub(crate) struct NodeLog {
    pub(crate) pool: Arc<str>,
    /// Limits each text to one line a second, for a node that comes and goes.
    pub(crate) throttle: Throttle,
}

impl NodeLog {
    pub(crate) fn new(pool: Arc<str>, clock: Arc<dyn Clock>) -> Self {
        let throttle = Throttle::new(clock);
        Self { pool, throttle }
    }
}

/// Logs a node's new state, from its driver: `log_node!(log, WARN, "text", field = 1)`. The value is true if the line
/// was written at its own level.
macro_rules! log_node {
    ($log:expr, $level:ident, $text:literal $(, $($field:tt)+)?) => {{
        let log: &$crate::logging::NodeLog = &$log;
        $crate::logging::log_caught!($crate::logging::log_throttled!(
            target: $crate::targets::NODE, &log.throttle, (), $level, $text,
            pool = %log.pool $(, $($field)+)?
        )).unwrap_or_default()
    }};
}
pub(crate) use log_node;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::tests::still_clock;

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
}
