//! Hot fenced locks: callers of several processes take turns without a pause, and a store checks the number of each.
//!
//! Nodes and processes fail meanwhile. Workers also kill themselves at each step of a hand-over. A lock whose holder has
//! died is free again after its short ttl.

mod store;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use redlock_tests::TempDir;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::check::Violation;
use crate::cluster::{Cluster, NodeFault};
use crate::faults::trouble_nodes;
use crate::fleet::Fleet;
use crate::history::Shared;
use crate::options::Options;
use crate::report::Report;
use crate::worker::Orders;

use store::Stores;

pub(crate) use turns::{Death, Step, run_worker};

/// How long it goes on at most until all goals are reached, and for another second for each thousand turns.
const LONGER: Duration = Duration::from_secs(10 * 60);

/// How long the locks may take, after the faults, to go on.
const LIVELY: Duration = Duration::from_secs(30);

/// The turns of each lock that show that it goes on.
const CALM_TURNS: u64 = 1000;

/// Returns the least values of the rows of the table.
fn goals(options: &Options) -> Vec<(String, u64)> {
    let turns = u64::from(options.turns);
    let nodes = NodeFault::ALL.map(|fault| (format!("fault: node {fault:?}"), 1));
    let steps = Step::ALL.map(|step| (step.row(), 1));
    let mut goals = vec![
        ("turns".to_owned(), turns),
        ("turns that were taken over".to_owned(), turns / 10),
        ("faults".to_owned(), turns / 10_000),
        ("late writes refused by the store".to_owned(), 1),
    ];
    goals.extend(nodes.into_iter().chain(steps));
    goals
}

/// Runs until all goals are reached, for the seconds of the options at least. Dropping the future ends every process.
pub(crate) async fn run(options: &Options) -> Report {
    let dir = TempDir::new();
    let history = Shared::default();
    let cluster = Arc::new(Cluster::start(options.nodes).await);
    let mut stores = Stores::create(dir.path(), options);
    let orders = Orders {
        worker: 0,
        options: options.clone(),
        journal: dir.path().join("worker"),
        store: dir.path().to_owned(),
        urls: cluster.urls(),
        rushes: false,
        dies: None,
    };
    let fleet = Fleet::start(orders, &history).await;
    let began = Instant::now();
    let (end, ended) = watch::channel(false);
    let injectors = trouble_nodes(&cluster, options.seed.into(), &history, &ended);
    // Workers die until the end, so somebody has to replace them until then.
    let (close, closed) = watch::channel(false);
    let burying = tokio::spawn(fleet.bury(closed));
    let span = Duration::from_secs(options.seconds.into());
    let longest = span + LONGER + Duration::from_millis(options.turns.into());
    let mut found = loop {
        sleep(Duration::from_millis(100)).await;
        stores.catch_up();
        let missing = missing(options, &history, &stores);
        let elapsed = began.elapsed();
        if elapsed >= span && missing.is_empty() || elapsed > longest {
            break missing;
        }
    };
    let faulty = began.elapsed();
    end.send_replace(true);
    injectors.join_all().await;

    let (calm, calmed) = (stores.turns_of_each(), Instant::now());
    while stores.is_stuck_since(&calm, CALM_TURNS) && calmed.elapsed() < LIVELY {
        sleep(Duration::from_millis(20)).await;
        stores.catch_up();
    }
    if stores.is_stuck_since(&calm, CALM_TURNS) {
        found.push(Violation::Stuck("a hot lock".to_owned()));
    }
    let recovery = calmed.elapsed();
    close.send_replace(true);
    let fleet = burying.await.expect("the workers' troubles end in order");
    found.extend(fleet.stop().await.into_iter().map(Violation::Worker));
    let leaked = cluster.keys_leaked().await;
    found.extend(leaked.into_iter().map(Violation::Leak));
    stores.catch_up();
    let mut history = std::mem::take(&mut *history.lock());
    history.catch_up();
    found.append(&mut history.found);
    history.counts.extend(stores.rows());
    found.extend(stores.found);
    Report {
        options: options.clone(),
        faulty,
        recovery,
        history,
        found,
        kept: None,
    }
}

/// Returns the rows that are below their least values.
fn missing(options: &Options, history: &Shared, stores: &Stores) -> Vec<Violation> {
    let mut rows = history.lock().counts.clone();
    let faults = rows.iter().filter(|(row, _)| row.starts_with("fault: "));
    let faults = faults.map(|(_, count)| count).sum();
    rows.insert("faults".to_owned(), faults);
    rows.extend(stores.rows());
    let goals = goals(options).into_iter();
    let lacking = goals.filter(|(row, least)| rows.get(row).is_none_or(|count| count < least));
    lacking.map(|(row, _)| Violation::Missing(row)).collect()
}
