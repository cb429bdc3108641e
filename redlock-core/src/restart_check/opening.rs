//! The opening of a new set in two steps: the module `restart_check` has the reasons.

use std::time::Duration;

use super::cause::Cause;
use super::checked_set::SetView;
use super::{Action, CheckAnswer, NodeCheck};

/// When to look again at what changes within milliseconds.
pub(super) const AT_ONCE: Duration = Duration::from_millis(25);
/// When to look again if no majority of the set is reachable.
const LATER: Duration = Duration::from_millis(500);
/// How long a node that is being opened is in quarantine for clients that do not know better. A
/// quarantine that they saw they sit out, so it is short.
const OPENING: Duration = Duration::from_secs(1);

impl NodeCheck {
    /// Decides for a node without a marker, on which this client has never seen one.
    pub(super) fn blank(&mut self, check: &CheckAnswer<'_>) -> Action {
        match self.peers.is_blank(self.seat, check.answered) {
            SetView::New => {
                let until = check.time.saturating_add(OPENING);
                self.write(check, until, Cause::Opening, Cause::Opening.to_string())
            }
            SetView::Undecided => Action::Hold {
                reason:
                    "it is blank; whether the set is new is not known until the other nodes have \
                         answered"
                        .into(),
                look_again: AT_ONCE,
                is_settled: false,
            },
            SetView::OutOfReach => Action::Hold {
                reason: "it is blank, and whether the set is new is not known until a majority of \
                         the pools is reachable"
                    .into(),
                look_again: LATER,
                is_settled: true,
            },
            // A client that opens a set marks all nodes that it reaches before. So this one has
            // forgotten its marker, or was not reached. If it is being marked at this moment, the
            // write finds the marker.
            SetView::InUse => self.quarantine(check, Cause::Late),
        }
    }

    /// Its set is being opened, by this process or by another one. The node has its marker still, so
    /// it has forgotten nothing since, and may vote once that can be said of all the others.
    pub(super) fn opening(&mut self, check: &CheckAnswer<'_>) -> Action {
        if self.is_held(check) {
            // This client knows that the set was in use, and no node votes yet.
            let cause = self.cause.unwrap_or(Cause::Lost);
            return self.quarantine(check, cause);
        }
        if self.peers.is_opening(self.seat, check.answered) {
            return self.write(check, check.time, Cause::New, Cause::New.to_string());
        }
        Action::Hold {
            reason: "its set is new, and is opened when a majority of the pools is marked".into(),
            look_again: AT_ONCE,
            is_settled: false,
        }
    }
}
