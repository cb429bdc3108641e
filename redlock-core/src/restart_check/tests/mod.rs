//! Tests of one node check, and of clients whose nodes forget.

mod model;
mod opening;
mod steps;
mod wire_formats;

use std::sync::Arc;
use std::time::Duration;

use super::marker::*;
use super::*;
use crate::env::Moment;

const MAX_TTL: Duration = Duration::from_secs(10);
/// The quarantine of a checked set with [`MAX_TTL`].
const QUARANTINE: Duration = Duration::from_millis(10_700);

/// A node as its check sees it, and the client's clock. Both clocks advance together, unless a test moves one.
struct Bench {
    node_check: NodeCheck,
    run_id: Option<&'static str>,
    marker: Option<Vec<u8>>,
    time: Duration,
    now: Moment,
    round_trip: Duration,
}

fn peers(restart_check: RestartCheck, size: usize) -> Arc<CheckedSet> {
    Arc::new(CheckedSet::new(restart_check, MAX_TTL, size, b""))
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Returns the marker of a quarantine that another client wrote.
fn marker(run_id: &str, until: Duration) -> Vec<u8> {
    let marker = Marker {
        run_id: run_id.to_owned(),
        since: until.saturating_sub(QUARANTINE),
        max_ttl: MAX_TTL,
        cause: RESTARTED.into(),
    };
    marker.to_bytes()
}

impl Bench {
    fn new(peers: &Arc<CheckedSet>, name: &str, run_id: &'static str, trust_aof: bool) -> Self {
        Self {
            node_check: NodeCheck::new(Arc::clone(peers), name, trust_aof),
            run_id: Some(run_id),
            marker: None,
            time: ms(1_700_000_000_000),
            now: Moment::from_origin(ms(5_000)),
            round_trip: Duration::ZERO,
        }
    }

    fn alone(restart_check: RestartCheck) -> Self {
        Self::new(&peers(restart_check, 1), "a", "run1", false)
    }

    /// Returns the only node of a checked set, which votes.
    fn voting() -> Self {
        let mut bench = Self::alone(RestartCheck::Standard);
        assert_eq!(bench.settle(), Action::Vote);
        bench
    }

    fn pass(&mut self, span: Duration) {
        self.time += span;
        self.now = self.now.saturating_add(span);
    }

    fn restart(&mut self, run_id: &'static str, marker: Option<Vec<u8>>) {
        self.node_check.unreachable();
        (self.run_id, self.marker) = (Some(run_id), marker);
    }

    fn check(&mut self) -> Verdict {
        self.try_check().expect("each server is a node once")
    }

    fn try_check(&mut self) -> Result<Verdict, String> {
        let asked = self.now;
        self.pass(self.round_trip / 2);
        let time = self.time;
        self.pass(self.round_trip / 2);
        self.node_check.check(&CheckAnswer {
            run_id: self.run_id,
            marker: self.marker.as_deref(),
            time,
            asked,
            answered: self.now,
        })
    }

    /// Checks and writes, until a check asks for no write. Returns its action.
    fn settle(&mut self) -> Action {
        for _ in 0..10 {
            match self.check().action {
                Action::Write(write) => {
                    assert_eq!(write.expected, self.marker, "what the check saw");
                    self.marker = Some(write.new);
                }
                other => return other,
            }
        }
        panic!("it writes without end: {:?}", self.read());
    }

    /// Asserts that the node votes, in a new epoch or in the present one.
    fn votes(&mut self, is_new_epoch: bool) {
        let verdict = self.check();
        assert_eq!(
            (verdict.action, verdict.is_new_epoch),
            (Action::Vote, is_new_epoch)
        );
    }

    /// Returns the reason why the node does not vote.
    fn held(&mut self) -> String {
        let action = self.settle();
        let Action::Hold { reason, .. } = action else {
            panic!("{action:?}");
        };
        reason
    }

    /// Asserts that the node is held for exactly this time.
    fn is_held_for(&mut self, span: Duration) {
        self.held();
        self.pass(span.saturating_sub(ms(1)));
        self.held();
        self.pass(ms(1));
        assert_eq!(self.settle(), Action::Vote);
    }

    /// Shows `self` the node as `other` sees it.
    fn see(&mut self, other: &Self) {
        self.run_id = other.run_id;
        self.marker.clone_from(&other.marker);
        (self.time, self.now) = (other.time, other.now);
    }

    fn read(&self) -> Marker {
        Marker::parse(self.marker.as_deref().unwrap()).unwrap()
    }

    /// Returns the marker's cause, and the rest of its quarantine.
    fn written(&self) -> (String, Duration) {
        let text = String::from_utf8(self.marker.clone().unwrap()).unwrap();
        let until = ms(text.split(' ').nth(1).unwrap().parse().unwrap());
        (self.read().cause.into(), until.saturating_sub(self.time))
    }

    fn assert_quarantine(&self, cause: &str) {
        assert_eq!(self.written(), (cause.to_owned(), QUARANTINE));
    }
}

/// Returns three nodes of one client.
fn three(restart_check: RestartCheck) -> [Bench; 3] {
    let peers = peers(restart_check, 3);
    [("a", "run-a"), ("b", "run-b"), ("c", "run-c")]
        .map(|(name, run_id)| Bench::new(&peers, name, run_id, false))
}

/// Returns three nodes of one client, which vote.
fn three_voting() -> [Bench; 3] {
    let mut nodes = three(RestartCheck::Standard);
    assert_eq!(settle_all(&mut nodes), [const { Action::Vote }; 3]);
    nodes
}

fn pass(nodes: &mut [Bench; 3], span: Duration) {
    for node in nodes {
        node.pass(span);
    }
}

/// Settles all nodes in turn, as often as a new set needs until it is open. Returns the last actions.
fn settle_all(nodes: &mut [Bench; 3]) -> [Action; 3] {
    for _ in 0..2 {
        for node in &mut *nodes {
            node.settle();
        }
    }
    nodes.each_mut().map(Bench::settle)
}

#[test]
fn without_a_restart_check_each_node_votes_and_has_no_marker() {
    let mut a = Bench::alone(RestartCheck::Off);
    for (run_id, found, jump) in [
        ("run1", None, 0),
        ("run2", Some(marker("run1", ms(u64::MAX))), 0),
        ("run2", None, 60_000),
    ] {
        a.restart(run_id, found);
        a.time += ms(jump);
        let verdict = a.check();
        assert_eq!(verdict.stepped_ms.is_some(), jump > 0, "a step is told");
        assert!(verdict.action == Action::Vote && !verdict.is_new_epoch);
    }
}

#[test]
fn a_node_that_forgot_waits_for_the_longest_ttl_in_a_new_epoch() {
    let kept = Bench::voting().marker;
    for (run_id, found, cause) in [
        ("run2", kept, RESTARTED),
        ("run2", Some(marker("run1", ms(3))), RESTARTED),
        ("run2", Some(b"garbage".to_vec()), INVALID),
        ("run1", Some(marker("run1", ms(u64::MAX))), INVALID),
        ("run2", None, RESTARTED),
        ("run1", None, FLUSHED),
    ] {
        let mut a = Bench::voting();
        a.restart(run_id, found);
        let verdict = a.check();
        assert!(verdict.is_new_epoch && matches!(verdict.action, Action::Write(_)));
        let reason = a.held();
        let text = format!("{cause}, so it may have forgotten locks; it votes again within 10 s");
        assert_eq!(reason, text);
        a.assert_quarantine(cause);
        assert_eq!(a.read().run_id, run_id);
        a.is_held_for(QUARANTINE);
        assert!(!a.check().is_new_epoch);
    }
}

#[test]
fn a_reconnection_changes_nothing_but_after_a_quarantine() {
    let mut a = Bench::voting();
    a.node_check.unreachable();
    a.pass(ms(60_000));
    a.votes(false);
    a.node_check.unreachable();
    a.pass(ms(60_000));
    a.marker = Some(marker("run1", a.time.saturating_sub(ms(1))));
    a.votes(true);
    a.marker = Some(marker("run1", a.time + ms(700)));
    let verdict = a.check();
    assert!(verdict.is_new_epoch, "that client knows something");
    assert!(matches!(verdict.action, Action::Hold { look_again, .. } if look_again == ms(700)));
    a.is_held_for(ms(700));
}

#[test]
fn trusting_the_aof_a_restart_is_none_but_a_missing_marker_is() {
    let mut a = Bench::new(&peers(RestartCheck::Standard, 1), "a", "run1", true);
    assert_eq!(a.settle(), Action::Vote);
    let before = a.read();
    a.run_id = Some("run2");
    assert!(!a.check().is_new_epoch);
    assert_eq!(a.settle(), Action::Vote);
    let run_id = "run2".to_owned();
    assert_eq!(a.read(), Marker { run_id, ..before });

    a.restart("run3", None);
    assert!(a.check().is_new_epoch);
    a.held();
    let since = a.read().since;
    // A quarantine continues after a restart that kept the marker.
    a.run_id = Some("run4");
    a.held();
    assert_eq!(a.read().since, since);
    a.is_held_for(QUARANTINE);
}

#[test]
fn two_connected_nodes_of_one_process_are_one_too_many() {
    for restart_check in [RestartCheck::Standard, RestartCheck::Off] {
        let peers = peers(restart_check, 2);
        let [mut a, mut b] = ["a", "b"].map(|name| Bench::new(&peers, name, "same", false));
        a.check();
        let reason = b.try_check().unwrap_err();
        assert!(reason.starts_with("`b` is the same server as `a`"));
        // Only connected nodes count, because a server may move from one address to the other.
        a.node_check.unreachable();
        b.check();
    }
}

#[test]
fn without_a_run_id_any_marker_is_ours() {
    let peers = peers(RestartCheck::Standard, 1);
    let mut a = Bench::new(&peers, "a", "run1", false);
    a.run_id = None;
    assert_eq!(a.settle(), Action::Vote);
    assert_eq!(a.read().run_id, Marker::UNKNOWN);
    a.marker = Some(marker("any", a.time.saturating_sub(ms(5))));
    assert_eq!(a.settle(), Action::Vote);
    // Two servers with unknown run ids may differ.
    let mut b = Bench::new(&peers, "b", "run1", false);
    b.run_id = None;
    b.check();
    // A client that learns the run id does not accept a marker without one.
    a.marker = Some(marker(Marker::UNKNOWN, a.time.saturating_sub(ms(5))));
    a.run_id = Some("run1");
    a.held();
}

/// Returns a client with a tenth of [`MAX_TTL`], whose node votes, and a client with all of it.
fn short_and_long() -> [Bench; 2] {
    let [mut short, mut long] = [MAX_TTL / 10, MAX_TTL].map(|max_ttl| {
        let peers = Arc::new(CheckedSet::new(RestartCheck::Standard, max_ttl, 1, b""));
        Bench::new(&peers, "a", "run1", false)
    });
    assert_eq!(short.settle(), Action::Vote);
    long.see(&short);
    [short, long]
}

#[test]
fn a_node_votes_once_its_marker_has_the_clients_max_ttl() {
    let [mut short, mut long] = short_and_long();
    let before = short.read();
    assert!(matches!(long.check().action, Action::Write(_)));
    assert_eq!(long.settle(), Action::Vote);
    let raised = long.read();
    assert_eq!(raised.max_ttl, MAX_TTL);
    assert_eq!((raised.run_id, raised.since), (before.run_id, before.since));
    short.see(&long);
    short.votes(false);
    short.restart("run2", None);
    short.is_held_for(QUARANTINE);
    assert_eq!(short.read().max_ttl, MAX_TTL);
    // An operator's word says that no lock is held, so the longer `max_ttl` no longer counts.
    short.marker = Some(IDLE.into());
    assert_eq!(short.settle(), Action::Vote);
    assert_eq!(short.read().max_ttl, MAX_TTL / 10);
    short.restart("run3", None);
    short.is_held_for(ms(2_647));
}

#[test]
fn a_client_that_holds_a_node_tells_others_its_longer_max_ttl() {
    let [mut short, mut long] = short_and_long();
    short.restart("run2", None);
    short.held();
    let before = short.read();
    long.see(&short);
    long.held();
    let raised = long.read();
    assert_eq!((raised.max_ttl, raised.since), (MAX_TTL, before.since));
    short.see(&long);
    short.is_held_for(QUARANTINE);
}
