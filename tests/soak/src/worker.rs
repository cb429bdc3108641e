//! A worker process: several tasks that lock, work and leave, until SIGTERM or the end of it all.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::StdRng;
use redlock_runtime::Config;
use redlock_runtime::parameters::LockOptions;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;

use crate::cluster::is_trusted;
use crate::faults::stop;
use crate::holder::{Holder, Place, Planned};
use crate::journal::Journal;
use crate::plan::{Cut, LONGEST_TTL, Plan};

/// What the parent calls this program with in the place of options.
pub(crate) const COMMAND: &str = "worker";

/// What a worker says when SIGTERM no longer kills it.
pub(crate) const READY: &str = "ready";

/// What the parent tells a worker: a list of words.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    pub(crate) worker: u32,
    pub(crate) seed: u64,
    pub(crate) tasks: u32,
    pub(crate) resources: u32,
    pub(crate) is_sabotaged: bool,
    pub(crate) journal: PathBuf,
    pub(crate) store: PathBuf,
    pub(crate) urls: Vec<String>,
}

impl Orders {
    pub(crate) fn to_words(&self) -> Vec<String> {
        let mut words = vec![
            COMMAND.to_owned(),
            self.worker.to_string(),
            self.seed.to_string(),
            self.tasks.to_string(),
            self.resources.to_string(),
            self.is_sabotaged.to_string(),
            self.journal.display().to_string(),
            self.store.display().to_string(),
        ];
        words.extend(self.urls.iter().cloned());
        words
    }

    /// From what follows the command.
    pub(crate) fn parse(words: &[String]) -> Option<Self> {
        let [
            worker,
            seed,
            tasks,
            resources,
            is_sabotaged,
            journal,
            store,
            urls @ ..,
        ] = words
        else {
            return None;
        };
        Some(Self {
            worker: worker.parse().ok()?,
            seed: seed.parse().ok()?,
            tasks: tasks.parse().ok()?,
            resources: resources.parse().ok()?,
            is_sabotaged: is_sabotaged.parse().ok()?,
            journal: journal.into(),
            store: store.into(),
            urls: urls.to_vec(),
        })
    }
}

/// Runs until SIGTERM.
pub(crate) async fn run(orders: Orders) -> Result<(), Box<dyn std::error::Error>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let journal = Journal::create(Path::new(&orders.journal), orders.worker)?;
    let place = Arc::new(Place {
        journal: Arc::new(journal),
        store: orders.store.clone(),
        is_sabotaged: orders.is_sabotaged,
    });
    let redlock = redlock_runtime::init(config(&orders)).await?;
    println!("{READY}");

    let (stop, stopped) = watch::channel(false);
    let mut lanes = JoinSet::new();
    for lane in 0..orders.tasks {
        let seed = orders.seed ^ (u64::from(orders.worker) << 32) ^ (u64::from(lane) << 16);
        let rng = StdRng::seed_from_u64(seed);
        let (mut rng, resources) = (rng, orders.resources);
        let plans = std::iter::repeat_with(move || Plan::draw(&mut rng, resources));
        let run = run_lane(Arc::clone(&place), plans, stopped.clone());
        lanes.spawn(run);
    }
    terminate.recv().await;
    stop.send_replace(true);
    while let Some(ended) = lanes.join_next().await {
        ended?;
    }
    let report = redlock.shutdown().await;
    println!("{report}");
    Ok(())
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
    place: Arc<Place>,
    mut plans: impl Iterator<Item = Plan>,
    stopped: watch::Receiver<bool>,
) {
    while !*stopped.borrow()
        && let Some(plan) = plans.next()
    {
        let holder = Holder::new(&place, plan);
        let mut task = tokio::spawn(holder.clone().perform());
        let abort = async {
            match holder.plan.cut {
                Some(Cut::Abort(after)) => sleep(after).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            ended = &mut task => judge(&holder, ended),
            () = abort => {
                task.abort();
                match task.await {
                    Err(error) if error.is_cancelled() => holder.was_cut(),
                    ended => judge(&holder, ended),
                }
            }
            () = stop(stopped.clone()) => {
                task.abort();
                // It has to be gone before the registry shuts down.
                let _ = task.await;
            }
        }
        sleep(holder.plan.pause).await;
    }
}

/// A task ends as planned, or something is wrong with the library or with the soak.
fn judge(holder: &Holder, ended: Result<(), JoinError>) {
    let Err(error) = ended else { return };
    let panic = error.into_panic();
    if panic.is::<Planned>() {
        return;
    }
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    holder.broken(format!("a panic: {}", text.unwrap_or("of no text")));
}
