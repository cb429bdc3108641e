//! Tells a restarted server from another server at the same address.

use std::time::Duration;

use super::cause::Cause;
use super::{CheckAnswer, Marker};

/// Tolerance when start times are compared: a server tells its uptime in whole seconds, and the clocks of
/// two servers differ.
const APART: Duration = Duration::from_secs(5);

/// The node's process, compared with the check before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Process {
    Same,
    Another,
    Unknown,
}

/// The processes that a node was.
#[derive(Debug, Default)]
pub(super) struct Processes {
    /// The node's last process, if the server tells it.
    run_id: Option<String>,
    /// The last process with a marker of its own, and the time of its clock then.
    marked: Option<(String, Duration)>,
}

impl Processes {
    /// Takes note of the process that answered.
    pub(super) fn recognize(&mut self, check: &CheckAnswer<'_>) -> Process {
        let process = match (check.run_id, self.run_id.as_deref()) {
            (Some(now), Some(before)) if now == before => return Process::Same,
            (Some(_), Some(_)) => Process::Another,
            _ => Process::Unknown,
        };
        if let Some(run_id) = check.run_id {
            self.run_id = Some(run_id.to_owned());
        }
        process
    }

    /// Records that the marker names the node's present process.
    pub(super) fn is_marked(&mut self, check: &CheckAnswer<'_>) {
        if let Some(run_id) = check.run_id {
            match &mut self.marked {
                Some((known, at)) if known == run_id => *at = check.time,
                marked => *marked = Some((run_id.to_owned(), check.time)),
            }
        }
    }

    /// The reason why the node is another process than before. `found` is the marker of the earlier
    /// process, if there is one. The reason is `Replaced` if the present process was already up when the
    /// earlier one was marked: then it is another server. Otherwise the reason is `other`.
    pub(super) fn cause(
        &self,
        check: &CheckAnswer<'_>,
        found: Option<&Marker>,
        other: Cause,
    ) -> Cause {
        let written = found.map(|found| (&found.run_id, found.since()));
        let marked = self.marked.as_ref().map(|(run_id, at)| (run_id, *at));
        let mut before = [written, marked].into_iter().flatten();
        let was_up = |started: Duration| {
            before.any(|(run_id, at)| {
                check.run_id != Some(run_id) && started.saturating_add(APART) < at
            })
        };
        if check.started.is_some_and(was_up) {
            Cause::Replaced
        } else {
            other
        }
    }
}
