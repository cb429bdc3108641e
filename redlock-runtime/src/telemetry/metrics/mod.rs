//! Records figures through the `metrics` facade. Labels name the site and the kind of lock, but not the resource,
//! because the number of resources has no limit.

pub(crate) mod describe;
mod node_figures;

use std::collections::BTreeSet;

use metrics::{counter, gauge, histogram};
use parking_lot::RwLock;

use crate::site::Site;

pub(crate) use node_figures::{LatencyRecorder, sample_nodes};

/// The recorder's name in the log lines about its panics, in drops and on the library's thread.
pub(crate) const RECORDER: &str = "a metrics recorder";

/// The outcomes of calls that ask the nodes.
const OUTCOMES: [&str; 9] = [
    "acquired",
    "joined",
    "contended",
    "skipped",
    "already_run",
    "unavailable",
    "lost",
    "shutting_down",
    "cancelled",
];

/// The reasons why a lease may end before its holder is done.
const REASONS: [&str; 7] = [
    "expired",
    "not_renewed",
    "max_hold",
    "stood_still",
    "taken",
    "forgotten",
    "revoked",
];

/// True if the present recorder sees this key for the first time. The keys are kept for each recorder, because a
/// program may install its exporter late.
fn is_new(site: usize, kind: &'static str) -> bool {
    static KNOWN: RwLock<BTreeSet<(usize, usize, &str)>> = RwLock::new(BTreeSet::new());
    let address = |recorder: &dyn metrics::Recorder| std::ptr::from_ref(recorder).cast::<()>();
    let key = (metrics::with_recorder(|it| address(it).addr()), site, kind);
    let is_known = KNOWN.read().contains(&key);
    !is_known && KNOWN.write().insert(key)
}

/// Describes the figures to a recorder that is new.
fn describe() {
    if is_new(0, "") {
        describe::all();
    }
}

/// Registers the figures of a site and a kind of lock as zeros, at the first call. Otherwise a rate would miss the
/// first event.
pub(crate) fn register_zeros(site: &'static Site, kind: &'static str) {
    use describe::{ACQUISITIONS, EXTENSIONS, HELD, HOLD, LOST, SWALLOWED, UNCONFIRMED, WAIT};

    let name = site.name();
    describe();
    if !is_new(site.address(), kind) {
        return;
    }
    let words = [
        (ACQUISITIONS, "outcome", &OUTCOMES[..]),
        (LOST, "reason", &REASONS),
        (EXTENSIONS, "outcome", &["extended", "unavailable", "lost"]),
    ];
    for (figure, label, words) in words {
        for word in words {
            counter!(figure, "site" => name, "kind" => kind, label => *word).increment(0);
        }
    }
    counter!(UNCONFIRMED, "site" => name, "kind" => kind).increment(0);
    gauge!(HELD, "site" => name, "kind" => kind).increment(0);
    for figure in [WAIT, HOLD] {
        drop(histogram!(figure, "site" => name, "kind" => kind));
    }
    for error in ["unavailable", "lost"].into_iter().filter(|_| site.skips) {
        counter!(SWALLOWED, "site" => name, "error_type" => error).increment(0);
    }
}
