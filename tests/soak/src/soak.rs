//! One soak, from the first server to the report.

use std::sync::Arc;
use std::time::Duration;

use redlock_tests::TempDir;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::check::{Violation, violations};
use crate::clock::{Moment, now};
use crate::cluster::{Cluster, NodeFault};
use crate::faults::trouble_nodes;
use crate::fleet::{Fleet, WorkerFault};
use crate::history::Shared;
use crate::options::Options;
use crate::report::Report;
use crate::rush::starved;
use crate::store;
use crate::worker::Orders;

/// How long it goes on at most until each row has its least value.
const LONGER: Duration = Duration::from_secs(10 * 60);

/// How long it may take, after the faults, until every resource was acquired again under load.
const LIVELY: Duration = Duration::from_secs(30);

/// The least values of rows of the table. Each fault has to come once.
const LEAST: [(&str, u64); 14] = [
    ("acquisitions with a fencing token", 30),
    ("acquisitions of permits after the first", 5),
    ("acquisitions: Plain", 5),
    ("acquisitions: Sets", 5),
    ("acquisitions: Permit", 5),
    ("acquisitions: Reader", 10),
    ("acquisitions: Writer", 5),
    ("acquisitions: Office", 1),
    ("acquisitions cut off", 1),
    ("bodies cut off", 1),
    ("bodies that panicked", 1),
    ("lost: expired", 1),
    ("refused: contended", 1),
    ("writes accepted by the store", 50),
];

/// Runs it all. Dropping the future ends every process that it started.
pub(crate) async fn run(options: &Options) -> Report {
    let dir = TempDir::new();
    let store = dir.path().join("store");
    store::serve(&store);
    let history = Shared::default();
    let cluster = Arc::new(Cluster::start(options.nodes).await);
    let mut orders = Orders {
        worker: 0,
        options: options.clone(),
        journal: dir.path().join("worker"),
        store,
        urls: cluster.urls(),
        rushes: !options.is_sabotaged,
        dies: None,
    };
    let mut wrong = Vec::new();
    if orders.rushes {
        wrong = Fleet::start(orders.clone(), &history).await.ended().await;
        orders.worker = options.processes;
        orders.rushes = false;
    }
    let fleet = Fleet::start(orders, &history).await;

    let began = Instant::now();
    let (end, ended) = watch::channel(false);
    let injectors = trouble_nodes(&cluster, options.seed.into(), &history, &ended);
    let suffering = tokio::spawn(fleet.suffer(ended));
    sleep(Duration::from_secs(options.seconds.into())).await;
    let mut found = still_there(LONGER, || rows_that_lack(options, &history)).await;
    let faulty = began.elapsed();
    end.send_replace(true);
    injectors.join_all().await;
    let fleet = suffering.await.expect("the workers' troubles end in order");

    let (calm, calmed) = (now(), Instant::now());
    found.extend(still_there(LIVELY, || stuck_since(calm, options, &history)).await);
    let recovery = calmed.elapsed();
    wrong.extend(fleet.stop().await);
    found.extend(wrong.into_iter().map(Violation::Worker));
    let leaked = cluster.keys_leaked().await;
    found.extend(leaked.into_iter().map(Violation::Leak));

    let mut history = std::mem::take(&mut *history.lock());
    history.catch_up();
    found.extend(violations(&history));
    found.extend(starved(&mut history));
    let kept = (!found.is_empty()).then(|| dir.path().to_owned());
    if kept.is_some() {
        std::mem::forget(dir);
    }
    Report {
        options: options.clone(),
        faulty,
        recovery,
        history,
        found,
        kept,
    }
}

/// Looks again until `look` finds nothing, or `longest` has passed. Returns the violations of the last look.
async fn still_there(longest: Duration, look: impl Fn() -> Vec<Violation>) -> Vec<Violation> {
    let began = Instant::now();
    loop {
        let found = look();
        if found.is_empty() || began.elapsed() > longest {
            return found;
        }
        // Other processes write the journals, and send no event to us.
        sleep(Duration::from_millis(20)).await;
    }
}

/// Returns the rows of the table that are still below their least values.
fn rows_that_lack(options: &Options, history: &Shared) -> Vec<Violation> {
    let mut history = history.lock();
    history.catch_up();
    let mut lacking = Vec::new();
    let mut expect = |row: String, least: u64| {
        if history.counts.get(&row).is_none_or(|count| *count < least) {
            lacking.push(Violation::Missing(row));
        }
    };
    if options.is_sabotaged {
        expect("acquisitions".to_owned(), 200);
        return lacking;
    }
    let permits = |row: &str| row.contains("ermit");
    for (row, least) in LEAST {
        if permits(row) || !options.wants_permits {
            expect(row.to_owned(), least);
        }
    }
    for fault in NodeFault::ALL {
        expect(format!("fault: node {fault:?}"), 1);
    }
    expect(
        format!("fault: worker {:?}", WorkerFault::Kill),
        options.kills.into(),
    );
    if options.kills == 1 {
        expect(format!("fault: worker {:?}", WorkerFault::Pause), 1);
    }
    lacking
}

/// The resources that nobody has acquired since `calm`.
fn stuck_since(calm: Moment, options: &Options, history: &Shared) -> Vec<Violation> {
    let mut history = history.lock();
    history.catch_up();
    let names = options.resource_names();
    let stuck = names.filter(|name| history.last_entered(name).is_none_or(|last| last < calm));
    stuck.map(Violation::Stuck).collect()
}
