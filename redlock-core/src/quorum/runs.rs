//! Runs that nodes remember: a job that runs once a period.
#![doc = include_str!("runs.md")]

use std::time::Duration;

use crate::error::LastRun;
use crate::model::resource::{RUNS, Resource};
use crate::model::run_record;
use crate::node::hash_slot::keys_beside;
use crate::node::{Answer, Remaining};

use super::majority;

/// The time for which a run is remembered, counted from its beginning: nine tenths of the period. A
/// clock that ticks a little early finds the record gone.
pub(crate) fn remembered_for(period: Duration) -> Duration {
    period.saturating_sub(period / 10)
}

/// The keys that remember the runs of the lock on `keys`, with `prefix`.
pub(crate) fn run_keys(keys: &Resource, prefix: &[u8]) -> Resource {
    keys_beside(keys, prefix, RUNS)
}

/// The run that a majority remembers, by the answers of all nodes. A node that failed, or did not
/// answer, remembers nothing.
pub(crate) fn last_run(answers: &[Option<Answer>]) -> Option<LastRun> {
    let remembered = answers.iter().filter_map(|answer| match answer {
        Some(Answer::Held(holding)) => match holding.remaining {
            Remaining::Expires(left) => Some((left, holding)),
            _ => None,
        },
        _ => None,
    });
    let mut remembered: Vec<_> = remembered.collect();
    remembered.sort_by_key(|(left, _)| *left);
    // Once this node has forgotten the run too, the nodes that still remember it are no majority.
    let decisive = remembered.len().checked_sub(majority(answers.len()))?;
    let (next_in, holding) = remembered[decisive];
    let record = holding.value.as_deref().and_then(run_record::read);
    Some(LastRun {
        owner: record.map(|(owner, _)| owner.into()),
        began: record.map(|(_, began)| began),
        next_in,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Holding, NodeError, NodeErrorKind};

    fn remembers(secs: u64) -> Option<Answer> {
        let mut holding = Holding::by("web-7/3121 2026-11-22T03:00:00.000Z");
        holding.remaining = Remaining::Expires(Duration::from_secs(secs));
        Some(Answer::Held(holding))
    }

    fn fails() -> Option<Answer> {
        let error = NodeError::sent(NodeErrorKind::Disconnected, "gone");
        Some(Answer::Failed(error))
    }

    #[test]
    fn only_a_majority_of_the_configured_nodes_remembers() {
        let absent = || Some(Answer::Absent);
        for none in [
            vec![absent(), absent(), absent()],
            vec![remembers(9), absent(), absent()],
            vec![remembers(9), fails(), None],
            vec![remembers(9), remembers(9), fails(), None],
        ] {
            assert_eq!(last_run(&none), None, "{none:?}");
        }
        for some in [
            vec![remembers(9)],
            vec![remembers(9), fails(), remembers(9)],
            vec![remembers(9), absent(), None, remembers(9), remembers(9)],
        ] {
            assert!(last_run(&some).is_some(), "{some:?}");
        }
    }

    #[test]
    fn the_job_may_run_again_once_too_few_nodes_remember() {
        let next_in = |answers: &[_]| last_run(answers).unwrap().next_in.as_secs();
        assert_eq!(next_in(&[remembers(7)]), 7);
        assert_eq!(next_in(&[remembers(9), remembers(5), fails()]), 5);
        assert_eq!(next_in(&[remembers(9), remembers(5), remembers(7)]), 7);
    }

    #[test]
    fn a_record_of_another_format_counts_and_names_nobody() {
        let mut holding = Holding::by("not today");
        holding.remaining = Remaining::Expires(Duration::from_secs(3000));
        let run = last_run(&[Some(Answer::Held(holding))]).unwrap();
        assert_eq!((&run.owner, run.began), (&None, None));
        assert_eq!(
            run.to_string(),
            "run already in this period: another client left a record of it; it may run again in \
             3000 s",
        );
        let run = last_run(&[remembers(3000)]).unwrap();
        assert_eq!(
            run.to_string(),
            "run already in this period: web-7/3121 began at 2026-11-22T03:00:00Z; it may run again \
             in 3000 s",
        );
    }
}
