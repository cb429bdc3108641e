//! One soak, from the first server to the report.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::check::{Violation, violations};
use crate::clock::{Moment, now};
use crate::cluster::Cluster;
use crate::faults::{Toll, trouble_nodes};
use crate::fleet::Fleet;
use crate::history::{History, Journals, Workdir};
use crate::options::Options;
use crate::report::{Report, counts};
use crate::store::Store;
use crate::worker::Orders;

/// How long it goes on at most for what it is to do at least.
const LONGER: Duration = Duration::from_secs(10 * 60);

/// How long it may take, after the faults, until every resource was acquired again under load.
const LIVELY: Duration = Duration::from_secs(30);

/// What was read of the journals so far.
#[derive(Default)]
struct Reading {
    journals: Arc<Mutex<Journals>>,
    history: History,
}

impl Reading {
    fn catch_up(&mut self) -> io::Result<&History> {
        let mut journals = self.journals.lock();
        journals.read_into(&mut self.history)?;
        Ok(&self.history)
    }
}

/// Runs it all. Dropping the future ends every process that it started.
pub(crate) async fn run(options: &Options) -> io::Result<Report> {
    let mut workdir = Workdir::new()?;
    let mut reading = Reading::default();
    let socket = workdir.path().join("store");
    let store = Store::serve(&socket)?;
    let cluster = Arc::new(Cluster::start(options.nodes).await);
    let orders = Orders {
        worker: 0,
        seed: options.seed,
        tasks: options.tasks,
        resources: options.resources,
        is_sabotaged: options.is_sabotaged,
        journal: workdir.path().join("worker"),
        store: socket,
        urls: cluster.urls(),
    };
    let fleet = Fleet::start(options.processes, orders, Arc::clone(&reading.journals)).await?;

    let began = Instant::now();
    let toll = Toll::default();
    let (end, ended) = watch::channel(false);
    let injectors = trouble_nodes(&cluster, options, &toll, &ended);
    let suffering = tokio::spawn(fleet.suffer(toll.clone(), ended));
    sleep(options.time).await;
    let longest = options.time.saturating_add(LONGER);
    while !is_enough(options, reading.catch_up()?, &toll, &store) && began.elapsed() < longest {
        // Other processes write the journals, and send no event to us.
        sleep(Duration::from_millis(200)).await;
    }
    let faulty = began.elapsed();
    end.send_replace(true);
    injectors.join_all().await;
    let fleet = suffering.await.expect("the workers' troubles end in order");

    let mut found = Vec::new();
    let calm = now();
    let recovery = recover(options, calm, &mut reading, &mut found).await?;
    let wrong = fleet.stop().await;
    found.extend(wrong.into_iter().map(Violation::Worker));
    let left = cluster.keys_leaked().await;
    found.extend(left.into_iter().map(Violation::Leak));

    reading.catch_up()?;
    let writes = store.writes();
    found.extend(violations(&reading.history, &writes));
    workdir.is_kept = !found.is_empty();
    let kept = workdir.is_kept.then(|| workdir.path().to_owned());
    let journals = reading.journals.lock();
    Ok(Report {
        options: options.clone(),
        faulty,
        recovery,
        toll: toll.counts(),
        details: Report::details(&found, &journals),
        found,
        history: reading.history,
        writes,
        kept,
    })
}

/// Whether as much has been done as there is to be done at least.
fn is_enough(options: &Options, history: &History, toll: &Toll, store: &Store) -> bool {
    if options.least.is_empty() {
        return true;
    }
    let rows = counts(history, &toll.counts(), &store.writes());
    options.least.iter().all(|(name, least)| {
        let mut of_name = rows.iter().filter(|(row, _)| row.trim_start() == name);
        of_name.any(|(_, value)| value >= least)
    })
}

/// Waits until each resource was acquired once more after `calm`. Returns how long that took.
async fn recover(
    options: &Options,
    calm: Moment,
    reading: &mut Reading,
    found: &mut Vec<Violation>,
) -> io::Result<Duration> {
    let began = Instant::now();
    loop {
        let entered = &reading.catch_up()?.last_entered;
        let stuck: Vec<_> = options
            .resource_names()
            .filter(|name| entered.get(name).is_none_or(|last| *last < calm))
            .collect();
        if stuck.is_empty() {
            return Ok(began.elapsed());
        }
        if began.elapsed() > LIVELY {
            found.extend(stuck.into_iter().map(Violation::Stuck));
            return Ok(began.elapsed());
        }
        // Other processes write the journals, and send no event to us.
        sleep(Duration::from_millis(20)).await;
    }
}
