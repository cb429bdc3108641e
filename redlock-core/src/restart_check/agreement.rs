//! Clients of different settings: the strictest counts.

use super::note::{Cause, Found, Note};
use super::settings::Settings;
use super::{Action, Aside, Check, RestartGuard, Sentry};

impl Sentry {
    /// What this client says of itself.
    pub(super) fn own(&self, check: &Check<'_>) -> Settings {
        let is_strict = self.fleet.guard() == RestartGuard::Strict;
        let is_careful = !self.options.trust_aof;
        Settings::of(self.fleet.max_ttl(), is_strict, is_careful, check.time)
    }

    /// Takes note of what others say of themselves. What a node has lost counts on for its time.
    pub(super) fn hear(&mut self, check: &Check<'_>, found: Option<&Found>) {
        let note = found.and_then(|found| found.note.as_ref());
        let said = note.map_or(self.said, |note| note.settings);
        self.said = said.still(self.fleet.max_ttl(), check.time);
        self.fleet.note_settings(self.seat, self.said);
    }

    /// Why a marker of this very process of the node does not count here: it was written by a client
    /// with less strict settings, who let the node vote at once where this one has it wait.
    pub(super) fn is_too_loose(&self, check: &Check<'_>, found: &Found) -> Option<Cause> {
        let note = found.note.as_ref()?;
        let cause = match note.cause {
            Cause::Kept if !self.options.trust_aof => Cause::Restarted,
            Cause::Opening | Cause::New if self.fleet.is_strict() => Cause::Strict,
            _ => return None,
        };
        let ends = note.since().saturating_add(self.fleet.quarantine());
        (check.time < ends).then_some(cause)
    }

    /// What this client has to say on the node.
    pub(super) fn aside(&self, check: &Check<'_>, action: &Action) -> Option<Aside> {
        let own = self.own(check);
        if matches!(action, Action::Write { .. } | Action::Refuse { .. }) || !self.said.wants(own) {
            return None;
        }
        let found = check.marker.and_then(Found::parse)?;
        // Who wrote a marker of the first version is not known, nor why.
        let (cause, since_ms) = match &found.note {
            Some(note) => (note.cause, note.since_ms),
            None => (Cause::Unknown, 0),
        };
        let note = Note {
            cause,
            since_ms,
            settings: self.said.with(own),
        };
        let new = Found {
            note: Some(note),
            ..found
        };
        Some(Aside {
            expected: check.marker?.to_vec(),
            new: new.to_bytes(),
        })
    }
}
