//! Runs that nodes remember: a job that runs once a period.
#![doc = include_str!("runs.md")]

use std::time::Duration;

use crate::error::LastRun;
use crate::kinds::exclusive::done;
use crate::kinds::looks::number;
use crate::model::resource::Resource;
use crate::model::token::{OwnerToken, owner_of};
use crate::node::hash_slot::{Beside, keys_beside};
use crate::node::{Argument, Call, Effect, Holding, Remaining, Value, Vote};
use crate::quorum::majority;

use super::run_record as record;
use super::{RECALL, REMEMBER, RUNS};

/// The time for which a run is remembered, counted from its beginning: nine tenths of the period. A
/// clock that ticks a little early finds the record gone.
pub(crate) fn remembered_for(period: Duration) -> Duration {
    period.saturating_sub(period / 10)
}

/// The keys that remember the runs of the lock on `keys`, with `prefix`.
pub(crate) fn run_keys(keys: &Resource, prefix: &[u8]) -> Resource {
    keys_beside(keys, prefix, RUNS)
}

/// What has to be in the hash slot of the lock on `keys`.
pub(crate) fn beside(keys: &Resource, prefix: &[u8]) -> Beside {
    Beside {
        keys: run_keys(keys, prefix),
        parameter: "`once_per`",
        key: "record of its runs",
    }
}

/// Has `keys` remember for `ttl` that the holder with `token` began at `began`, in ms since 1970. A record that
/// expires later than that, and within `longest`, stays.
pub(crate) fn remember(
    keys: &Resource,
    token: &OwnerToken,
    began: u64,
    (ttl, longest): (Duration, Duration),
) -> Call {
    let owner = owner_of(token.as_bytes()).unwrap_or_default();
    let record = record::written(owner, began);
    Call::new(&REMEMBER, Effect::Keeps, keys, done).with([
        Argument::text(record.into_bytes()),
        Argument::millis(ttl),
        Argument::millis(longest),
    ])
}

/// Asks which run `keys` remember.
pub(crate) fn recall(keys: &Resource) -> Call {
    Call::new(&RECALL, Effect::Looks, keys, recalled)
}

/// Reads a run record: its remaining ms, a space, and the record.
fn recalled(value: Value) -> Option<Vote> {
    let text = match value {
        Value::Nil => return Some(Vote::Absent),
        Value::Text(text) => text,
        _ => return None,
    };
    let (left, record) = number(&text)?;
    let mut holding = Holding::by(record);
    holding.remaining = Remaining::Expires(Duration::from_millis(left));
    Some(Vote::Held(holding))
}

/// The run that a majority remembers, by the answers of all nodes to a caller with this period. A node that
/// failed, or did not answer, remembers nothing. Nor does a node whose record has more time left than a run of
/// the period can have: its clock was set back, or the run was one of a longer period.
pub(crate) fn last_run(answers: &[Option<Vote>], period: Duration) -> Option<LastRun> {
    let longest = remembered_for(period);
    let remembered = answers.iter().filter_map(|answer| match answer {
        Some(Vote::Held(holding)) => match holding.remaining {
            Remaining::Expires(left) if left <= longest => Some((left, holding)),
            _ => None,
        },
        _ => None,
    });
    let mut remembered: Vec<_> = remembered.collect();
    remembered.sort_by_key(|(left, _)| *left);
    // Once this node has forgotten the run too, the nodes that still remember it are no majority.
    let decisive = remembered.len().checked_sub(majority(answers.len()))?;
    let (next_in, holding) = remembered[decisive];
    let record = holding.value.as_deref().and_then(record::read);
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

    fn remembers(secs: u64) -> Vote {
        let mut holding = Holding::by("web-7/3121 2026-11-22T03:00:00.000Z");
        holding.remaining = Remaining::Expires(Duration::from_secs(secs));
        Vote::Held(holding)
    }

    fn fails() -> Vote {
        let error = NodeError::sent(NodeErrorKind::Disconnected, "gone");
        Vote::Failed(error)
    }

    /// `nodes` is the number of all nodes. The nodes without an answer in the list are silent.
    fn of(nodes: usize, answers: &[Vote]) -> Option<LastRun> {
        let mut all: Vec<_> = answers.iter().cloned().map(Some).collect();
        all.resize(nodes, None);
        last_run(&all, Duration::from_secs(4000))
    }

    #[test]
    fn only_a_majority_of_the_configured_nodes_remembers() {
        use Vote::Absent;
        for none in [
            of(3, &[Absent, Absent, Absent]),
            of(3, &[remembers(9), Absent, Absent]),
            of(3, &[remembers(9), fails()]),
            of(4, &[remembers(9), remembers(9), fails()]),
        ] {
            assert_eq!(none, None);
        }
        for some in [
            of(1, &[remembers(9)]),
            of(3, &[remembers(9), fails(), remembers(9)]),
            of(5, &[remembers(9), Absent, remembers(9), remembers(9)]),
        ] {
            assert!(some.is_some());
        }
    }

    #[test]
    fn the_job_may_run_again_once_too_few_nodes_remember() {
        let next_in = |answers: &[_]| of(answers.len(), answers).unwrap().next_in.as_secs();
        assert_eq!(next_in(&[remembers(7)]), 7);
        assert_eq!(next_in(&[remembers(9), remembers(5), fails()]), 5);
        assert_eq!(next_in(&[remembers(9), remembers(5), remembers(7)]), 7);
    }

    #[test]
    fn a_record_of_another_format_counts_and_names_nobody() {
        let mut holding = Holding::by("not today");
        holding.remaining = Remaining::Expires(Duration::from_secs(3000));
        let run = of(1, &[Vote::Held(holding)]).unwrap();
        assert_eq!((&run.owner, run.began), (&None, None));
        assert_eq!(
            run.to_string(),
            "run already in this period: another client left a record of it; it may run again in \
             50 min",
        );
        let run = of(1, &[remembers(3000)]).unwrap();
        assert_eq!(
            run.to_string(),
            "run already in this period: web-7/3121 began at 2026-11-22T03:00:00Z; it may run again \
             in 50 min",
        );
    }
}
