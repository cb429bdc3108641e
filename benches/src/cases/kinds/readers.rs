//! Readers of one resource, beside as many holders of distinct locks.

use std::time::Duration;

use redlock_core::Request;
use redlock_core::request::Kind as LockKind;
use redlock_tests::Nodes;

use super::CONNECT_TIMEOUT;
use crate::cases::{Flavor, runtime};
use crate::contender::{Ours, TTL, in_turn};
use crate::load::{Call, Load, PREFIX, Sample};
use crate::plan::Plan;
use crate::report::Bound::AtLeast;
use crate::report::{Report, TROUBLE, each, median, trouble};
use crate::stats::{Spread, micros};
use crate::table::Table;

const CALLERS: usize = 64;

/// How long a lock is held; zero is long enough for others to be scheduled in between.
const HOLDS: [(&str, Duration); 2] = [
    ("held for a yield", Duration::ZERO),
    ("held for 1 ms", Duration::from_millis(1)),
];

/// What the callers want.
#[derive(Clone, Copy)]
enum Crowd {
    DistinctLocks,
    Readers,
    DistinctReaders,
}

impl Crowd {
    const ALL: [Self; 3] = [Self::DistinctLocks, Self::Readers, Self::DistinctReaders];

    const fn name(self) -> &'static str {
        match self {
            Self::DistinctLocks => "holders of distinct locks",
            Self::Readers => "readers of one resource",
            Self::DistinctReaders => "readers of distinct resources",
        }
    }

    fn request(self, caller: usize) -> Request {
        let one = || Request::new(format!("{PREFIX}read"));
        let distinct = || Request::new(format!("{PREFIX}read:{caller}"));
        let request = match self {
            Self::DistinctLocks => distinct(),
            Self::Readers => one().kind(LockKind::Read),
            Self::DistinctReaders => distinct().kind(LockKind::Read),
        };
        request.ttl(TTL)
    }
}

type Rounds = [Vec<Sample>; Crowd::ALL.len()];

/// The acquisitions of 64 callers of one process in each `Crowd`.
pub fn kinds_readers(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let runtime = runtime(Flavor::MultiThread);
    let ours = runtime.block_on(Ours::connect(&nodes.urls(), CONNECT_TIMEOUT));
    let load = Load {
        callers: CALLERS,
        warm_up: plan.warm_up,
        run: plan.run,
    };
    for (case, hold) in HOLDS {
        let mut rounds: Rounds = [const { Vec::new() }; Crowd::ALL.len()];
        for round in 0..plan.rounds {
            for place in in_turn(Crowd::ALL.len(), round) {
                let crowd = Crowd::ALL[place];
                let call = |caller| Call::Held(ours.clone(), crowd.request(caller), hold);
                let sample = runtime.block_on(async {
                    let mut sample = load.drive_calls((0..CALLERS).map(call)).await;
                    sample.look_behind(nodes).await;
                    sample
                });
                rounds[place].push(sample);
            }
        }
        print(case, &rounds, report);
    }
}

fn print(case: &str, rounds: &Rounds, report: &mut Report) {
    let case = format!("{CALLERS} callers, {case}");
    let mut table = Table::new([
        &case,
        "acquisitions/s",
        "p50 µs",
        "p99 µs",
        "client cpu µs",
        "× distinct locks",
        TROUBLE,
    ]);
    let rate = |samples: &[Sample]| each(samples, |sample| sample.pairs_per_second);
    let [distinct, readers, _] = rounds;
    for (crowd, samples) in Crowd::ALL.iter().zip(rounds) {
        report.add(&case, crowd.name(), samples);
        table.row(&[
            crowd.name().to_owned(),
            median(samples, |sample| sample.pairs_per_second),
            median(samples, |sample| micros(sample.p50)),
            median(samples, |sample| micros(sample.p99)),
            format!(
                "{:.1}",
                Spread::of(each(samples, |of| micros(of.cpu_a_pair))).median
            ),
            Spread::of_ratios(&rate(samples), &rate(distinct)).to_string(),
            trouble(samples),
        ]);
    }
    let found = Spread::of_ratios(&rate(readers), &rate(distinct)).median;
    let what = format!("{}, × distinct locks", Crowd::Readers.name());
    report.line(&mut table, &case, &what, AtLeast(1.0), found);
    report.table(table);
}
