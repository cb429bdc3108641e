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

/// In how many processes each turn ran.
fn runs(fleet: &Fleet) -> BTreeMap<u64, usize> {
    let mut runs = BTreeMap::new();
    for (turn, what) in fleet.services.iter().flat_map(turns) {
        *runs.entry(turn).or_default() += usize::from(what == "ran");
    }
    runs
}

#[tokio::test]
async fn each_turn_of_a_job_runs_in_one_process_of_the_fleet() {
    let settings = [("CRON_EVERY_MS", "500")];
    let mut fleet = Fleet::start("cron", 0, &settings).await;
    for _ in 0..PROCESSES {
        fleet.add("cron", "ready").await;
    }
    eventually("some turns", LONG, async || {
        let mut whats = fleet.services.iter().flat_map(turns);
        let is_skipped = whats.any(|(_, what)| what == "skipped");
        let enough = is_skipped && runs(&fleet).values().sum::<usize>() >= TURNS;
        enough.then_some(()).ok_or_else(|| fleet.said())
    })
    .await;
    for service in &fleet.services {
        service.signal(Signal::TERM);
    }
    for service in &fleet.services {
        assert!(service.wait(LONG).await.success(), "{service}");
    }

    let runs = runs(&fleet);
    assert!(runs.values().all(|&runs| runs <= 1), "{runs:?}");
    // A late process is told of the run, though the job is done and the processes are gone.
    let (turn, _) = runs.iter().rfind(|(_, runs)| **runs == 1).unwrap();
    let kept = fleet
        .nodes
        .values_of(format!("redlock:once:{{report:{turn}}}"));
    assert!(kept.iter().flatten().count() >= 2, "turn {turn}: {kept:?}");
}
