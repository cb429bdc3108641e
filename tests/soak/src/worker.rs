//! A worker process: several tasks that lock, work and leave, until SIGTERM or the end of it all.

use std::path::PathBuf;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::StdRng;
use redlock_runtime::Config;
use redlock_runtime::parameters::LockOptions;
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;

use crate::cluster::is_trusted;
use crate::event::Event;
use crate::faults::stop;
use crate::holder::{Holder, Planned};
use crate::hot::{self, Death};
use crate::journal::Journal;
use crate::options::Options;
use crate::plan::{LONGEST_TTL, Plan};
use crate::rush;

/// What the parent calls this program with in the place of options.
pub(crate) const COMMAND: &str = "worker";

/// What a worker says when SIGTERM no longer kills it.
pub(crate) const READY: &str = "ready";

/// The parent's orders to a worker, as one argument.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) worker: u32,
    pub(crate) options: Options,
    pub(crate) journal: PathBuf,
    pub(crate) store: PathBuf,
    pub(crate) urls: Vec<String>,
    /// Waits in a rush while nothing fails, and ends by itself.
    pub(crate) rushes: bool,
    /// Takes turns on hot locks until it dies so.
    pub(crate) dies: Option<Death>,
}

/// Runs until SIGTERM, or until the end of a rush.
pub(crate) async fn run(orders: Orders) {
    let terminate = signal(SignalKind::terminate()).expect("a signal that can be caught");
    let journal = Arc::new(Journal::open(&orders.journal, orders.worker));
    let redlock = redlock_runtime::init(config(&orders)).await;
    let redlock = redlock.expect("a configuration of ours");
    println!("{READY}");

    if orders.rushes {
        rush::run(&orders, &journal).await;
    } else if orders.dies.is_some() {
        hot::run_worker(&orders, &journal, terminate).await;
    } else {
        run_lanes(&orders, &journal, terminate).await;
    }
    println!("{}", redlock.shutdown().await);
}

async fn run_lanes(orders: &Orders, journal: &Arc<Journal>, mut terminate: Signal) {
    let (stop, stopped) = watch::channel(false);
    let mut lanes = JoinSet::new();
    for lane in 0..orders.options.tasks {
        let seed = u64::from(orders.options.seed);
        let seed = seed ^ (u64::from(orders.worker) << 32) ^ (u64::from(lane) << 16);
        lanes.spawn(run_lane(
            orders.clone(),
            Arc::clone(journal),
            StdRng::seed_from_u64(seed),
            stopped.clone(),
        ));
    }
    terminate.recv().await;
    stop.send_replace(true);
    lanes.join_all().await;
}

fn config(orders: &Orders) -> Config {
    // Every lock sets its ttl, but the default ttl must not be above `max_ttl` either.
    let mut config = Config::new()
        .max_ttl(LONGEST_TTL)
        .defaults(LockOptions::new().ttl(LONGEST_TTL));
    for (seat, url) in orders.urls.iter().enumerate() {
        let pool = format!("node{seat}");
        config = config.pool(&pool, url);
        if is_trusted(seat) {
            config = config.trust_aof(&pool, true);
        }
    }
    config
}

async fn run_lane(
    orders: Orders,
    journal: Arc<Journal>,
    mut rng: StdRng,
    stopped: watch::Receiver<bool>,
) {
    let store = Arc::new(orders.store);
    while !*stopped.borrow() {
        let plan = Plan::draw(&mut rng, &orders.options);
        let pause = plan.pause;
        let mut task = tokio::spawn(Holder::new(&journal, &store, plan).perform());
        let ended = tokio::select! {
            ended = &mut task => ended,
            () = stop(stopped.clone()) => {
                // It has to be gone before the registry shuts down.
                task.abort();
                task.await
            }
        };
        judge(&journal, ended);
        sleep(pause).await;
    }
}

/// A task ends as planned, or something is wrong with the library or with the soak.
pub(crate) fn judge(journal: &Journal, ended: Result<(), JoinError>) {
    let Err(error) = ended else { return };
    let text = error.to_string();
    if error.is_panic() && !error.into_panic().is::<Planned>() {
        journal.write(&Event::Broken(text));
    }
}
