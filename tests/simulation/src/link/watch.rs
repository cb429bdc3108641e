//! What a node tells those who wait for keys, on a connection of its own: behind, before and between
//! what goes over the other one, late, in part, or not at all. Nothing may depend on it.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::MutexGuard;
use redlock_core::node::{KeyReport, Watch};

use super::Link;
use crate::history::Watching;
use crate::server::Listener;

/// A pause that stands for the making of a connection.
const CONNECTS_IN: Duration = Duration::from_millis(1);

/// The watches of one link.
#[derive(Default)]
pub(super) struct Watches {
    /// Goes up with each connection.
    connection: u64,
    kept: BTreeMap<u64, Arc<Kept>>,
    next: u64,
    /// When the last report arrives: the next one is not earlier.
    last_at: Duration,
}

/// A watch, and the call that began it.
struct Kept {
    watch: Watch,
    watching: Option<Watching>,
}

impl Link {
    fn watches(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock()
    }

    /// Asks the server to tell what becomes of the keys of `watch`.
    pub(super) fn keep_watch(&self, watch: Watch) {
        if self.world().has_ended() {
            return;
        }
        let keys = watch.keys().clone();
        let watching = self.around.history.watches(self.server.seat);
        let (connection, number) = {
            let mut watches = self.watches();
            watches.kept.retain(|_, kept| kept.watch.is_wanted());
            watches.next += 1;
            let number = watches.next;
            let kept = Arc::new(Kept { watch, watching });
            watches.kept.insert(number, kept);
            (watches.connection, number)
        };
        let delay = CONNECTS_IN + self.around.network.delay();
        let me = Weak::clone(&self.me);
        self.world().after(delay, move || {
            let Some(link) = me.upgrade() else {
                return;
            };
            if !link.server.is_up() {
                link.deafen();
                return;
            }
            let listener = Told {
                link: me,
                connection,
                number,
            };
            link.server.look_out(keys, Box::new(listener));
        });
    }

    /// Sends a report from the server.
    fn send_report(&self, connection: u64, number: u64, key_report: KeyReport) {
        let network = &self.around.network;
        if network.happens(self.reports.lost) {
            return;
        }
        let key_report = if network.happens(self.reports.wrong) {
            KeyReport::Free
        } else {
            key_report
        };
        let late = network.between(0, self.reports.late);
        let now = self.world().now();
        let at = {
            let mut watches = self.watches();
            watches.last_at = watches.last_at.max(now + network.delay() + late);
            watches.last_at
        };
        self.later(at.saturating_sub(now), move |link| {
            link.hear(connection, number, key_report);
        });
    }

    fn wants_report(&self, connection: u64, number: u64) -> bool {
        let watches = self.watches();
        let kept = watches.kept.get(&number);
        kept.is_some_and(|kept| kept.watch.is_wanted()) && watches.connection == connection
    }

    /// Delivers a report to the client.
    fn hear(&self, connection: u64, number: u64, key_report: KeyReport) {
        let kept = {
            let watches = self.watches();
            let known = watches.kept.get(&number).cloned();
            known.filter(|_| watches.connection == connection)
        };
        if let Some(kept) = kept {
            self.report(&kept, key_report);
        }
    }

    fn report(&self, kept: &Kept, key_report: KeyReport) {
        let Kept { watch, watching } = kept;
        if watch.is_wanted() && !self.world().has_ended() {
            let place = (self.server.seat, &*self.clock);
            let history = &self.around.history;
            history.reported((self.process, *watching), place, watch.keys(), key_report);
            watch.report(key_report);
        }
    }

    /// Breaks the connection for reports.
    pub(crate) fn deafen(&self) {
        self.later(Duration::ZERO, Self::hear_no_more);
    }

    /// Whoever waits hears that nothing is seen any more.
    fn hear_no_more(&self) {
        let kept = {
            let mut watches = self.watches();
            watches.connection += 1;
            std::mem::take(&mut watches.kept)
        };
        for kept in kept.values() {
            self.report(kept, KeyReport::Unknown);
        }
    }
}

/// A watcher to which a server sends reports.
struct Told {
    link: Weak<Link>,
    connection: u64,
    number: u64,
}

impl Listener for Told {
    fn is_wanted(&self) -> bool {
        let link = self.link.upgrade();
        link.is_some_and(|link| link.wants_report(self.connection, self.number))
    }

    fn tell(&self, key_report: KeyReport) {
        if let Some(link) = self.link.upgrade() {
            link.send_report(self.connection, self.number, key_report);
        }
    }
}
