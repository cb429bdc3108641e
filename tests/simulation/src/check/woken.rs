//! The rule that who waits for a lock is woken when it is free.

use std::time::Duration;

use redlock_core::quorum::majority;
use redlock_core::request::Kind;

use super::Broken;
use crate::history::{History, Inner, Invariant};
use crate::profile::DEFAULT_NODE_TIMEOUT;
use crate::world::CallId;

/// The time within which a woken caller must attempt. It allows for split votes and late polls.
const LATEST: Duration = Duration::from_millis(40);

impl History {
    /// `call` has paused, and asks the nodes again or has had enough. Nodes that can vote have not
    /// told for long that the lock is free.
    pub(crate) fn check_woken(&self, inner: &Inner, call: CallId, broken: &mut Broken) {
        let now = self.world.now();
        if inner.calls[call].request.kind != Kind::Plain {
            // Nodes tell of each permit by itself.
            return;
        }
        let Some(free_since) = inner.free_since(call, now) else {
            return;
        };
        let late = now.saturating_sub(free_since);
        if late > LATEST && self.is_awake(inner, call) {
            let text = format!("call {call} paused though the lock was free, for {late:?}");
            broken.push((Invariant::Unwoken, text));
        }
    }
}

impl Inner {
    /// The time since which a majority of the nodes has reported that the lock is free, within the
    /// present pause of `call` and to its present watch. Reports to another caller of its line do not
    /// count, nor reports to an earlier watch: each watch has its own reports, and any of them may be
    /// lost. Only nodes that voted in its last attempt count.
    fn free_since(&self, call: CallId, now: Duration) -> Option<Duration> {
        let call = &self.calls[call];
        let attempt = &self.attempts[*call.attempts.last()?];
        // It was refused by the votes that were there, and pauses since.
        let paused_at = attempt.released_at?;
        attempt.held_at.filter(|held| *held < paused_at)?;
        let mut since: Vec<Duration> = (attempt.seats.iter().zip(&call.told.reports))
            .enumerate()
            .filter(|(seat, _)| attempt.voted & (1 << seat) != 0)
            .filter_map(|(_, (seat, report))| {
                let report = report.filter(|report| report.seen_at >= paused_at)?;
                let free_from = report.free_from.filter(|from| *from <= now)?;
                Some(seat.heard_at?.max(report.at).max(free_from))
            })
            .collect();
        since.sort_unstable();
        let since = since.get(majority(attempt.seats.len()) - 1)?;
        // An attempt with a fencing token may go on for a while behind its votes.
        Some((*since).max(attempt.staked_at + DEFAULT_NODE_TIMEOUT))
    }
}
