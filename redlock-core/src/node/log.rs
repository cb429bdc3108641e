//! What is logged of a node that comes and goes.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tracing::Level;

use crate::env::caught::log;
use crate::env::environment::Environment;
use crate::env::throttle::{Pace, Throttles};
use crate::env::{About, Cause};

/// The lines of one node that are written as they come. Three restarts in a minute have fewer.
const PACE: Pace = Pace {
    lines: 12,
    every: Duration::from_secs(60),
};

/// The log of one node, over all its connections. If the node comes and goes so often that a minute has more lines
/// than that, the next minutes have one line each, which says how many were held back. A clone is the same log.
#[derive(Clone, Debug)]
pub(crate) struct NodeLog {
    pub(crate) pool: Arc<str>,
    throttles: Throttles,
    last: Arc<Mutex<Line>>,
    /// The warnings of the last connection.
    warned: Arc<Mutex<Vec<String>>>,
}

/// A line's text and its reason.
type Line = (&'static str, String);

impl NodeLog {
    pub(crate) fn new(pool: Arc<str>, environment: &Environment) -> Self {
        let last = Arc::<Mutex<Line>>::default();
        let (name, written) = (Arc::clone(&pool), Arc::clone(&last));
        let tell = move |_: &Cause, held_back| {
            let (last, reason) = written.lock().clone();
            log!(
                warn,
                pool = %name, held_back, last, reason,
                "node comes and goes; these lines were held back",
            );
        };
        Self {
            pool,
            throttles: Throttles::with_pace(PACE, environment, tell),
            last,
            warned: Arc::default(),
        }
    }

    /// The number of lines that were held back, if this line may be written. See [`log_node!`].
    pub(crate) fn pass(&self, text: &'static str, reason: &str) -> Option<u64> {
        *self.last.lock() = (text, reason.to_owned());
        self.throttles.pass(Level::WARN, "", About::default())
    }

    /// Logs the warnings of a new connection that the last one did not have.
    pub(crate) fn connected(&self, warnings: Vec<String>) {
        let before = self.warned.lock().clone();
        for warning in warnings.iter().filter(|it| !before.contains(it)) {
            log!(warn, pool = %self.pool, "{warning}");
        }
        *self.warned.lock() = warnings;
    }
}

/// Logs a node's new state: `log_node!(log, warn, reason, "text", field = 1)`. A line that is held back is in the log
/// at debug.
macro_rules! log_node {
    ($log:expr, $level:ident, $reason:expr, $text:literal $(, $($field:tt)+)?) => {{
        let (log, reason): (&$crate::node::log::NodeLog, &str) = (&$log, $reason);
        // An event has no field without a value.
        let shown = Some(reason).filter(|it| !it.is_empty()).map(tracing::field::display);
        macro_rules! event {
            ($at:ident, $held_back:expr) => {
                $crate::env::caught::log!(
                    $at,
                    pool = %log.pool, $($($field)+,)? reason = shown, held_back = $held_back,
                    $text,
                )
            };
        }
        match log.pass($text, reason) {
            Some(held_back) => event!($level, (held_back > 0).then_some(held_back)),
            None => event!(debug, None::<u64>),
        }
    }};
}
pub(crate) use log_node;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::tasks::by_hand;

    #[test]
    fn a_node_that_comes_and_goes_has_few_lines_and_then_one_a_minute_with_a_count() {
        let (clock, tasks, environment) = by_hand();
        let log = NodeLog::new("a".into(), &environment);
        let mut written = Vec::new();
        // Ten times a second, for five minutes.
        for tenth in 0..3000 {
            let (text, reason) = [("connected", ""), ("not connected", "closed")][tenth % 2];
            if log.pass(text, reason).is_some() {
                written.push(tenth);
            }
            clock.advance(Duration::from_millis(100));
            tasks.poll();
        }
        let expected: Vec<_> = (0..12).chain([600, 1200, 1800, 2400]).collect();
        assert_eq!(written, expected);
        assert_eq!(*log.last.lock(), ("not connected", "closed".to_owned()));
        // The last line about it, and a minute's rest.
        for _ in 0..2 {
            clock.advance(PACE.every);
            tasks.poll();
        }
        assert_eq!(log.pass("connected", ""), Some(0));
    }
}
