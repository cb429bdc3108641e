//! A job that every process has in its schedule.

use std::collections::BTreeMap;

use redlock_tests::{Service, Signal, eventually};

use crate::services::LONG;
use crate::services::fleet::Fleet;

const PROCESSES: usize = 3;
const TURNS: usize = 5;

/// What became of each turn in a process: `ran`, `skipped` or `failed`.
fn turns(service: &Service) -> BTreeMap<u64, String> {
    let said = service.output();
    let lines = said.lines().filter_map(|line| line.strip_prefix("turn "));
    let turns = lines.filter_map(|line| {
        let (turn, what) = line.split_once(": ")?;
        let what = what.split(',').next()?;
        Some((turn.parse().ok()?, what.to_owned()))
    });
    turns.collect()
}

/// What the processes did in each turn that no process missed.
fn common_turns(fleet: &Fleet) -> BTreeMap<u64, Vec<String>> {
    let mut common: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (turn, what) in fleet.services.iter().flat_map(turns) {
        common.entry(turn).or_default().push(what);
    }
    common.retain(|_, whats| whats.len() == PROCESSES);
    common
}

#[tokio::test]
async fn each_turn_of_a_job_runs_in_one_process_of_the_fleet() {
    // Processes that are too slow for a turn leave it out. They have to have some in common.
    let settings = [("CRON_EVERY_MS", "500")];
    let mut fleet = Fleet::start("cron", 0, &settings).await;
    for _ in 0..PROCESSES {
        fleet.add("cron", "ready").await;
    }
    eventually("some turns", LONG, async || {
        let common = common_turns(&fleet);
        let enough = common.len() >= TURNS;
        enough.then_some(()).ok_or_else(|| fleet.said())
    })
    .await;
    for service in &fleet.services {
        service.signal(Signal::TERM);
    }
    for service in &fleet.services {
        assert!(service.wait(LONG).await.success(), "{service}");
    }

    for (turn, mut whats) in common_turns(&fleet) {
        whats.sort();
        assert_eq!(whats, ["ran", "skipped", "skipped"], "turn {turn}");
        // A late process is told of the run, though the job is done and the processes are gone.
        let records = format!("redlock:once:{{report:{turn}}}");
        let kept = fleet.nodes.values_of(records);
        assert!(kept.iter().flatten().count() >= 2, "turn {turn}: {kept:?}");
    }
    let mut ran = BTreeMap::<u64, u32>::new();
    for (turn, what) in fleet.services.iter().flat_map(turns) {
        *ran.entry(turn).or_default() += u32::from(what == "ran");
    }
    // Also those that not all of them came to.
    assert!(ran.values().all(|&ran| ran <= 1), "{ran:?}");
}
