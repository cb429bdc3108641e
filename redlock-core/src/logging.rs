//! The library's log: few lines about what happens many times, and the places that survive a panic of a subscriber.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::debug::debug_in_part;
use crate::env::{Clock, Moment};

/// A cause has one line in this time.
const PACE: Duration = Duration::from_secs(1);

/// Lets a log line a second of each cause pass and holds the others back, whose number comes with the next line of the
/// cause. A fault of a node concerns all leases at once. See [`log_throttled!`].
pub struct Throttle {
    clock: Arc<dyn Clock>,
    /// The moment of the next line, and the number of lines that were held back, by the hash of the cause. Each function
    /// with a lock has a few causes.
    causes: Mutex<BTreeMap<u64, (Moment, u64)>>,
}

impl Throttle {
    /// Makes a throttle that counts seconds by `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let causes = Mutex::default();
        Self { clock, causes }
    }

    /// Returns the number of lines of this cause that were held back since the last one, if this line may pass. `None`
    /// holds it back, too.
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

/// Writes an event to the log, if a [`Throttle`] lets it pass:
/// `log_throttled!(target: targets::LOCK, &throttle, about, WARN, "text", field = 1)`. Its cause is its text and what it is
/// about, and the field `held_back` has the number of those that were held back before it, if any. Those are in the log
/// at debug. Without a throttle, `None`, no line is held back. The value is true if the line passed.
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
        // An event that no subscriber wants is not counted either.
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

/// Writes to the log where a panic of the subscriber must end nothing: `log_caught!(warn!("text"))`. Such places are drops
/// and drivers, renewals, signals and shutdowns. Elsewhere the panic unwinds into the caller. `None` if it panicked.
#[doc(hidden)]
#[macro_export]
macro_rules! log_caught {
    ($event:expr) => {
        $crate::internal::caught("a log subscriber", || $event)
    };
}
pub use log_caught;

/// The log of one node, over all its connections.
#[derive(Debug)]
pub(crate) struct NodeLog {
    pub(crate) pool: Arc<str>,
    /// A node that comes and goes has a line a second of each text.
    pub(crate) throttle: Throttle,
}

impl NodeLog {
    pub(crate) fn new(pool: Arc<str>, clock: Arc<dyn Clock>) -> Self {
        let throttle = Throttle::new(clock);
        Self { pool, throttle }
    }
}

/// Logs a node's new state, from its driver: `log_node!(log, WARN, "text", field = 1)`. The value is true if the line was
/// not held back.
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
