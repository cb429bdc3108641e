//! A key whose lock was released must be gone from every node, once all that was sent has arrived.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::operation::{Operation, Want};
use redlock_core::Node as _;

use crate::history::Invariant;
use crate::link::Link;

/// When to look first, and how often again while messages are under way.
const FIRST_LOOK: Duration = Duration::from_millis(1500);
const NEXT_LOOK: Duration = Duration::from_millis(500);

impl Link {
    /// Expects the keys of a token to go on all nodes, after its first release was submitted.
    pub(crate) fn expect_gone(&self, release: &Arc<Operation>) {
        if self.heeds(release) {
            for peer in self.peers.get().into_iter().flatten() {
                look_after(peer, release, FIRST_LOOK);
            }
        }
    }

    /// Expects the keys of a token to go on this node alone, after its first release was submitted.
    pub(crate) fn expect_gone_here(&self, release: &Arc<Operation>) {
        if self.heeds(release)
            && let Some(me) = self.myself()
        {
            look_after(me, release, FIRST_LOOK);
        }
    }

    fn heeds(&self, release: &Operation) -> bool {
        let is_long = matches!(release.want(), Want::Release { ttl } if ttl > FIRST_LOOK);
        is_long && self.around.history.heeds_leftovers()
    }

    fn myself(&self) -> Option<&Weak<Self>> {
        self.peers.get()?.get(self.server.seat)
    }

    fn look(&self, release: &Arc<Operation>) {
        let token = release.token().as_bytes();
        let history = &self.around.history;
        let world = &self.around.world;
        if !self.server.holds(release.keys(), token) || history.is_excused(self.server.seat, token)
        {
            return;
        }
        let is_still = world.is_paused(self.process) || history.is_stalled(self.process);
        if self.is_busy() || is_still {
            if let Some(me) = self.myself() {
                look_after(me, release, NEXT_LOOK);
            }
            return;
        }
        let memory = self.server.memory();
        let ours = release.keys().names();
        let ours = ours.filter(|key| memory.get(key).is_some_and(|value| value == token));
        let left = ours.filter_map(|key| memory.remaining(key)).max();
        let Want::Release { ttl } = release.want() else {
            return;
        };
        // A release is owed for its ttl on the client's clock; the node's may be a little slower.
        if left.is_some_and(|left| left > ttl / 20) {
            let text = format!(
                "n{} still has a key of {} for {left:?}, and no release is under way",
                self.server.seat,
                release.token().short_id(),
            );
            history.violated(Invariant::Leftover, text);
        }
    }

    /// True if something that was submitted may not have been served yet.
    fn is_busy(&self) -> bool {
        !self.is_connected() || !self.drained()
    }
}

fn look_after(link: &Weak<Link>, release: &Arc<Operation>, delay: Duration) {
    let Some(target) = link.upgrade() else {
        return;
    };
    let (link, release) = (Weak::clone(link), Arc::clone(release));
    target.around.world.after(delay, move || {
        if let Some(link) = link.upgrade() {
            link.look(&release);
        }
    });
}
