//! A node check fed by hand, and clients with node checks against nodes that forget.

mod max_ttl;
mod model;
mod opening;
mod steps;
mod table;

use std::sync::Arc;
use std::time::Duration;

use super::cause::Cause;
use super::marker::{IDLE, millis};
use super::*;
use crate::env::Moment;

pub(super) const MAX_TTL: Duration = Duration::from_secs(10);
/// What a checked set with [`MAX_TTL`] makes of it.
pub(super) const QUARANTINE: Duration = Duration::from_millis(10_700);

/// A node as a check sees it, and the client's clock. Both clocks move on together unless a test
/// moves one.
pub(super) struct Bench {
    pub(super) node_check: NodeCheck,
    pub(super) run_id: Option<&'static str>,
    pub(super) started: Option<Duration>,
    pub(super) marker: Option<Vec<u8>>,
    pub(super) time: Duration,
    pub(super) now: Moment,
    pub(super) round_trip: Duration,
}

pub(super) fn peers(restart_check: RestartCheck, size: usize) -> Arc<CheckedSet> {
    Arc::new(CheckedSet::new(restart_check, MAX_TTL, size))
}

pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A quarantine that another client wrote, as a node has it: or not.
#[allow(clippy::unnecessary_wraps)]
pub(super) fn marker(run_id: &str, until: Duration) -> Option<Vec<u8>> {
    let marker = Marker {
        run_id: run_id.to_owned(),
        since_ms: millis(until.saturating_sub(QUARANTINE)),
        cause: Cause::Restarted,
        max_ttl_ms: millis(MAX_TTL),
        until_ms: millis(until),
    };
    Some(marker.to_bytes())
}

impl Bench {
    pub(super) fn new(peers: &Arc<CheckedSet>, name: &str, run_id: &'static str) -> Self {
        Self::with(peers, name, run_id, NodeCheckOptions::default())
    }

    pub(super) fn trusting(peers: &Arc<CheckedSet>, name: &str, run_id: &'static str) -> Self {
        Self::with(peers, name, run_id, NodeCheckOptions { trust_aof: true })
    }

    fn with(
        peers: &Arc<CheckedSet>,
        name: &str,
        run_id: &'static str,
        options: NodeCheckOptions,
    ) -> Self {
        Self {
            node_check: NodeCheck::new(Arc::clone(peers), name, options),
            run_id: Some(run_id),
            started: None,
            marker: None,
            time: ms(1_700_000_000_000),
            now: Moment::from_origin(ms(5_000)),
            round_trip: Duration::ZERO,
        }
    }

    /// A single node of its checked set that votes.
    pub(super) fn voting() -> Self {
        let peers = peers(RestartCheck::Standard, 1);
        let mut bench = Self::new(&peers, "a", "run1");
        assert_eq!(bench.settle(), Action::Vote);
        bench
    }

    pub(super) fn pass(&mut self, span: Duration) {
        self.time += span;
        self.now = self.now.saturating_add(span);
    }

    pub(super) fn check(&mut self) -> Verdict {
        let asked = self.now;
        self.pass(self.round_trip / 2);
        let time = self.time;
        self.pass(self.round_trip / 2);
        self.node_check.check(&CheckAnswer {
            run_id: self.run_id,
            started: self.started,
            marker: self.marker.as_deref(),
            time,
            asked,
            answered: self.now,
        })
    }

    /// Checks, and writes what the check says, until it says something else.
    pub(super) fn settle(&mut self) -> Action {
        for _ in 0..10 {
            match self.check().action {
                Action::Write { expected, new, .. } => {
                    assert_eq!(expected, self.marker, "what the check saw");
                    self.marker = Some(new);
                }
                other => return other,
            }
        }
        panic!("it writes without end: {:?}", self.read());
    }

    /// `self` finds the node as `other` does.
    pub(super) fn see(&mut self, other: &Self) {
        self.run_id = other.run_id;
        self.marker.clone_from(&other.marker);
        (self.time, self.now) = (other.time, other.now);
    }

    pub(super) fn read(&self) -> Marker {
        Marker::parse(self.marker.as_deref().unwrap()).unwrap()
    }

    pub(super) fn cause(&self) -> Cause {
        self.read().cause
    }

    /// For how much longer the marker keeps the node from voting.
    pub(super) fn left(&self) -> Duration {
        self.read().until().saturating_sub(self.time)
    }
}

/// Three nodes of one set that vote.
pub(super) fn three() -> [Bench; 3] {
    let peers = peers(RestartCheck::Standard, 3);
    let mut nodes = [("a", "run1"), ("b", "run2"), ("c", "run3")]
        .map(|(name, run_id)| Bench::new(&peers, name, run_id));
    let [a, b, c] = &mut nodes;
    assert_eq!(settle_all([a, b, c]), [const { Action::Vote }; 3]);
    nodes
}

pub(super) fn pass(nodes: &mut [Bench; 3], span: Duration) {
    for node in nodes {
        node.pass(span);
    }
}

/// Looks at all of them in turn, as often as it takes to open a new set; what is said last.
pub(super) fn settle_all<const N: usize>(mut nodes: [&mut Bench; N]) -> [Action; N] {
    for _ in 0..2 {
        for node in &mut nodes {
            node.settle();
        }
    }
    nodes.map(Bench::settle)
}

pub(super) fn reason(action: &Action) -> &str {
    match action {
        Action::Hold { reason, .. } | Action::Write { reason, .. } | Action::Refuse { reason } => {
            reason
        }
        Action::Vote => panic!("it votes"),
    }
}
