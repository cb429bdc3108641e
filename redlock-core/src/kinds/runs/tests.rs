//! Tests of how replies about run records become votes, and of the records' keys.

use std::time::Duration;

use super::{last_run, run_key};
use crate::error::LastRun;
use crate::model::resource::Resource;
use crate::node::{Holding, NodeError, NodeErrorKind, Remaining, Vote};

fn remembers(secs: u64) -> Vote {
    let mut holding = Holding::by("web-7/3121 2026-11-22T03:00:00.000Z");
    holding.remaining = Remaining::Expires(Duration::from_secs(secs));
    Vote::Held(holding)
}

fn fails() -> Vote {
    let error = NodeError::sent(NodeErrorKind::Disconnected, "gone");
    Vote::Failed(error)
}

/// Returns the last run by the first `answers` of `nodes` nodes. The other nodes are silent.
fn of(nodes: usize, answers: &[Vote]) -> Option<LastRun> {
    let mut all: Vec<_> = answers.iter().cloned().map(Some).collect();
    all.resize(nodes, None);
    last_run(&all, Duration::from_secs(4000))
}

#[test]
fn a_majority_of_all_nodes_remembers_until_too_few_of_them_do() {
    use Vote::Absent;
    for (nodes, answers, next_in) in [
        (3, vec![Absent, Absent, Absent], None),
        (3, vec![remembers(9), Absent, Absent], None),
        (3, vec![remembers(9), fails()], None),
        (4, vec![remembers(9), remembers(9), fails()], None),
        (1, vec![remembers(7)], Some(7)),
        (3, vec![remembers(9), remembers(5), fails()], Some(5)),
        (3, vec![remembers(9), remembers(5), remembers(7)], Some(7)),
    ] {
        let run = of(nodes, &answers);
        assert_eq!(run.map(|run| run.next_in.as_secs()), next_in, "{answers:?}");
    }
}

#[test]
fn a_record_of_another_format_counts_and_names_nobody() {
    let mut holding = Holding::by("not today");
    holding.remaining = Remaining::Expires(Duration::from_secs(3000));
    let run = of(1, &[Vote::Held(holding)]).unwrap();
    assert_eq!((&run.owner, run.began), (&None, None));
    let text = "run already in this period: another client left a record of it; it may run again in 50 min";
    assert_eq!(run.to_string(), text);
    let run = of(1, &[remembers(3000)]).unwrap();
    let text = "web-7/3121 began at 2026-11-22T03:00:00Z; it may run again in 50 min";
    assert!(run.to_string().ends_with(text), "{run}");
}

#[test]
fn no_two_locks_share_a_record() {
    let key = |names: &[&str]| {
        let key = run_key(&Resource::all(names.iter().copied()), b"");
        key.names().next().unwrap().to_vec()
    };
    assert_eq!(key(&["a"]), b"redlock:once:{a}");
    let digest = "95253b90414f24c679779b57f9eb73d08de34a87";
    assert_eq!(
        key(&["a", "b"]),
        format!("redlock:once:{digest}:{{a}}").as_bytes()
    );
    assert_ne!(key(&["a", "b+c"]), key(&["a", "b", "c"]));
    assert_ne!(key(&["{a}+b"]), key(&["{a}", "b"]));
}
