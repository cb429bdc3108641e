//! A pair of each kind, without waiting callers.

use std::time::{Duration, Instant};

use redlock_core::request::Kind as LockKind;
use redlock_core::{Lease, Request};
use redlock_tests::Nodes;
use tokio::runtime::Runtime;

use super::{CONNECT_TIMEOUT, Flavor, case, runtime};
use crate::affinity::OneCore;
use crate::clock::cpu_time;
use crate::contender::{Ours, in_turn};
use crate::load::{Calls, PREFIX, Sample, keys_left};
use crate::plan::Plan;
use crate::report::Report;

const NODES: [usize; 2] = [1, 3];

/// The length of a way's turn: far shorter than a disturbance of the machine.
const SLICE: Duration = Duration::from_millis(20);

/// Beyond any run: who holds the other permits does not renew them.
const TTL: Duration = Duration::from_secs(3_600);

/// Which lock a pair is on.
#[derive(Clone, Copy, Debug)]
enum Way {
    Plain,
    Read,
    Write,
    /// A lock with permits: how many there are, and how many another client holds.
    Permit(u16, u16),
}

impl Way {
    const ALL: [Self; 7] = [
        Self::Plain,
        Self::Read,
        Self::Write,
        Self::Permit(10, 0),
        Self::Permit(10, 9),
        Self::Permit(256, 0),
        Self::Permit(256, 255),
    ];

    fn name(self) -> String {
        match self {
            Self::Plain => "plain".to_owned(),
            Self::Read => "read".to_owned(),
            Self::Write => "write".to_owned(),
            Self::Permit(count, 0) => format!("permit of {count}"),
            Self::Permit(count, held) => format!("permit of {count}, {held} held"),
        }
    }

    fn request(self) -> Request {
        let kind = match self {
            Self::Plain => LockKind::Plain,
            Self::Read => LockKind::Read,
            Self::Write => LockKind::Write,
            Self::Permit(count, _) => LockKind::Permits(count),
        };
        Request::new(format!("{PREFIX}kinds:{}", self.name()))
            .kind(kind)
            .ttl(TTL)
    }

    /// Returns the number of permits that another client holds.
    fn held(self) -> u16 {
        match self {
            Self::Permit(_, held) => held,
            _ => 0,
        }
    }
}

type Rounds = [Vec<Sample>; Way::ALL.len()];

/// Measures one caller's pairs of each kind, over one node and over three.
pub fn kinds(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    for count in NODES {
        // A lone caller and its only server wait for each other. On one core nothing depends on where the host has
        // them run.
        let _one_core = (count == 1).then(|| OneCore::take(nodes[0].pid()));
        let runtime = runtime(Flavor::MultiThread);
        let urls = &nodes.urls()[..count];
        let ours = runtime.block_on(Ours::connect(urls, CONNECT_TIMEOUT));
        let held = runtime.block_on(take_permits(urls));
        turns(plan.warm_up, &runtime, &ours, 0);
        let mut rounds: Rounds = [const { Vec::new() }; Way::ALL.len()];
        for round in 0..plan.rounds {
            let samples = turns(plan.run, &runtime, &ours, round);
            for (all, sample) in rounds.iter_mut().zip(samples) {
                all.push(sample);
            }
        }
        drop(held);
        let case = format!("1 caller, {}", case(count, "node"));
        for (way, samples) in Way::ALL.iter().zip(&rounds) {
            report.add_samples(&case, &way.name(), samples);
        }
        report.left_behind(&case, &runtime.block_on(keys_left(nodes)));
    }
}

/// Takes the permits that another client holds.
async fn take_permits(urls: &[String]) -> Vec<Lease> {
    let other = Ours::connect(urls, CONNECT_TIMEOUT).await;
    let mut leases = Vec::new();
    for way in Way::ALL {
        for _ in 0..way.held() {
            leases.push(other.acquire(&way.request()).await);
        }
    }
    leases
}

/// Gives all ways their turns, there and back again, until each has had `run`.
fn turns(run: Duration, runtime: &Runtime, ours: &Ours, round: usize) -> Vec<Sample> {
    let mut parts: Vec<_> = Way::ALL.map(|_| Part::default()).into();
    let ways = u32::try_from(Way::ALL.len()).unwrap_or(u32::MAX);
    let end = Instant::now() + run * ways;
    let mut passes = 2 * round;
    while parts[0].time.is_zero() || Instant::now() < end {
        for _ in 0..2 {
            for place in in_turn(Way::ALL.len(), passes) {
                let part = std::mem::take(&mut parts[place]);
                let slice = slice(ours.clone(), Way::ALL[place].request(), part);
                parts[place] = runtime.block_on(async {
                    let slice = tokio::spawn(slice).await;
                    slice.expect("pairs that do not panic")
                });
            }
            passes += 1;
        }
    }
    let parts = parts.into_iter();
    parts
        .map(|part| part.calls.into_sample(part.time, part.cpu))
        .collect()
}

/// The sums over all slices of one way.
#[derive(Default)]
struct Part {
    calls: Calls,
    time: Duration,
    cpu: Duration,
}

async fn slice(ours: Ours, request: Request, mut part: Part) -> Part {
    let (began, cpu) = (Instant::now(), cpu_time());
    let mut asked = began;
    while asked < began + SLICE {
        let outcome = ours.pair_of(&request).await;
        part.calls.note(asked, outcome, true);
        asked = Instant::now();
    }
    part.time += began.elapsed();
    part.cpu += cpu_time().saturating_sub(cpu);
    part
}
