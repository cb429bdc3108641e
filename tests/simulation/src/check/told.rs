//! The rule that a lock that is held reads as held, and not as a failure of the nodes.

use redlock_core::error::AcquireError;

use super::Broken;
use crate::history::{History, Inner, Invariant};
use crate::world::CallId;

impl History {
    /// `call` gives up, and is told `error`. This does not say that no majority answered if a majority
    /// has said by now that the lock is held: to the last attempt of the call itself, or, if the call
    /// made none, to the last attempt of its line that was refused since the call came.
    pub(crate) fn check_told(
        &self,
        inner: &mut Inner,
        call: CallId,
        error: &AcquireError,
        broken: &mut Broken,
    ) {
        let (attempts, is_down) = match error {
            AcquireError::Contended(told) => (told.attempts, false),
            AcquireError::Unavailable(told) => (told.attempts, true),
            _ => return,
        };
        let attempt = match inner.calls[call].attempts.last() {
            Some(own) if attempts > 0 => Some(*own),
            // It lost its turn, and came again: nothing shows when that was.
            Some(_) => None,
            None => inner.last_refused(call),
        };
        let Some(attempt) = attempt.map(|attempt| &inner.attempts[attempt]) else {
            return;
        };
        let Some(held_at) = attempt.majority_held_at else {
            return;
        };
        if attempts == 0 && attempt.released_at.is_some_and(|decided| decided < held_at) {
            inner.coverage.held_late += 1;
        }
        // Votes may have come behind its last look at them.
        if is_down && inner.calls[call].is_prompt && self.is_awake(inner, call) {
            let id = &attempt.short_id;
            let text = format!("call {call} was told: {error}; a majority held {id}");
            broken.push((Invariant::ReadAsDown, text));
        }
    }
}

impl Inner {
    /// Returns the newest attempt of another caller in the line of `call`, if it began since `call` came and was
    /// refused. `None` if nothing shows that it was refused: it may be under way, or have reached no node,
    /// so that there was nothing to release.
    fn last_refused(&self, call: CallId) -> Option<usize> {
        let this = &self.calls[call];
        let others = self.calls.iter().filter(|other| other.line == this.line);
        let last = others.flat_map(|other| &other.attempts).copied().max()?;
        let attempt = &self.attempts[last];
        // A process that stood still may have begun the attempt before the call came, and sent it after.
        (attempt.staked_at > this.came_at && attempt.is_told).then_some(last)
    }
}
