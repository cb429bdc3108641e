//! Clients with different settings: each node follows the strictest settings.
//!
//! While a fleet is rolled out with a longer `max_ttl`, the old processes would otherwise open a node before
//! the new processes' locks are over. The test `the_longest_max_ttl_is_how_long_a_node_waits` fails without
//! this rule.

use super::details::{Cause, FoundMarker, MarkerDetails};
use super::settings::StrictestSettings;
use super::{Action, CheckAnswer, NodeCheck, RestartCheck, SettingsWrite};

impl NodeCheck {
    /// The settings of this client.
    pub(super) fn own(&self, check: &CheckAnswer<'_>) -> StrictestSettings {
        let is_strict = self.peers.restart_check() == RestartCheck::Strict;
        let is_careful = !self.options.trust_aof;
        StrictestSettings::of(self.peers.max_ttl(), is_strict, is_careful, check.time)
    }

    /// Records the settings that other processes wrote to the marker. Settings that a node has lost
    /// count until they expire.
    pub(super) fn read_settings(&mut self, check: &CheckAnswer<'_>, found: Option<&FoundMarker>) {
        let details = found.and_then(|found| found.details.as_ref());
        let said = details.map_or(self.said, |details| details.settings);
        self.said = said.still(self.peers.max_ttl(), check.time);
        self.peers.record_settings(self.seat, self.said);
    }

    /// The reason why a marker of the node's present process does not count here: a client with less
    /// strict settings wrote it, and let the node vote at once, although this client makes it wait.
    pub(super) fn is_too_loose(
        &self,
        check: &CheckAnswer<'_>,
        found: &FoundMarker,
    ) -> Option<Cause> {
        let details = found.details.as_ref()?;
        let cause = match details.cause {
            Cause::Kept if !self.options.trust_aof => Cause::Restarted,
            Cause::Opening | Cause::New if self.peers.is_strict() => Cause::Strict,
            _ => return None,
        };
        let ends = details.since().saturating_add(self.peers.quarantine());
        (check.time < ends).then_some(cause)
    }

    /// The write that adds this client's settings to the marker, if the marker lacks them.
    pub(super) fn settings_write(
        &self,
        check: &CheckAnswer<'_>,
        action: &Action,
    ) -> Option<SettingsWrite> {
        let own = self.own(check);
        if matches!(action, Action::Write { .. } | Action::Refuse { .. }) || !self.said.wants(own) {
            return None;
        }
        let found = check.marker.and_then(FoundMarker::parse)?;
        // A marker of the first version does not say who wrote it, and why.
        let (cause, since_ms) = match &found.details {
            Some(details) => (details.cause, details.since_ms),
            None => (Cause::Unknown, 0),
        };
        let details = MarkerDetails {
            cause,
            since_ms,
            settings: self.said.with(own),
        };
        let new = FoundMarker {
            details: Some(details),
            ..found
        };
        Some(SettingsWrite {
            expected: check.marker?.to_vec(),
            new: new.to_bytes(),
        })
    }
}
