//! The node driver itself, unchanged, over simulated sockets. Streams are cut anywhere, answers are late,
//! connections break on one side or both, servers hang, restart, forget scripts, fail over, give slots away,
//! and answer with garbage.
#![doc = include_str!("simulation.md")]

mod check;
mod host;
mod keys;
mod locks;
mod log;
mod network;
mod newer;
mod places;
mod raw;
mod resp;
mod slots;
mod town;
mod trouble;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redlock_core::env::{Clock, Moment, Sleep, Spawn, Task};
use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::restart_check::{CheckedSet, RestartCheck};
use redlock_core::{Client, Environment, IoThread, Node, NodeSet, RedisNode, simulation};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use crate::random::{Random, SeededEntropy};
use locks::{Process, Table};
use log::Kind;
use network::Streets;
use places::Shape;
use raw::{Desk, Waiting};
use town::{Shared, Town};
use trouble::{Troubles, trouble};

/// What servers' clocks show at the beginning.
const EPOCH_MICROS: u64 = 1_700_000_000_000_000;

/// For how long things go wrong.
const TROUBLED: Duration = Duration::from_secs(10);

/// The time within which everything has to be in order again. A dead idle connection is noticed by its
/// heartbeat, and given up `dead_after` later.
const RECOVERY: Duration = Duration::from_secs(25);

/// What came of a run.
#[derive(Debug)]
pub struct Report {
    /// What must not be.
    pub violations: Vec<String>,
    /// How often each thing happened.
    pub counts: BTreeMap<&'static str, u64>,
    /// A digest of everything that servers did.
    pub digest: u64,
    /// Empty unless it was wanted.
    pub trace: Vec<String>,
}

/// Runs `seed`.
///
/// # Panics
/// Where the system refuses a runtime.
pub fn run(seed: u64, is_traced: bool) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let report = runtime.block_on(play(seed, is_traced));
    // Whatever is still there ends within the simulation.
    drop(runtime);
    simulation::leave();
    report
}

/// What runs `seed` once more, and shows what happens.
pub fn again(seed: u64) -> String {
    format!(
        "once more: cargo run --profile simulation -p redlock-simulation --features driver --bin drive \
         -- --seed {seed} --trace"
    )
}

async fn play(seed: u64, is_traced: bool) -> Report {
    let mut random = Random::new(seed);
    let town: Shared = Arc::new(Mutex::new(Town::new(random.fork(), is_traced)));
    let streets = Streets {
        town: Arc::clone(&town),
        chance: Mutex::new(random.fork()),
    };
    simulation::enter(Arc::new(streets));
    let environment = Environment {
        clock: Arc::new(PausedClock(Instant::now())),
        entropy: Arc::new(SeededEntropy::new(random.fork())),
        spawner: Arc::new(Here),
    };
    let io = IoThread::simulated(Handle::current(), environment.clone());
    let mut found = Vec::new();
    if random.chance(6000) {
        one_node(&town, &io, &mut random, &mut found).await;
    } else {
        locks(&town, &io, &mut random, &mut found).await;
    }
    let mut town = town.lock().expect("no panic");
    if town.counts.contains_key("nonsense") {
        found.push("the driver sent what is no command".to_owned());
    }
    if town.counts.contains_key("sent in spite of the greeting") {
        found.push("the driver sent a command that the greeting had found refused".to_owned());
    }
    let words = town.served.iter().map(ToString::to_string);
    let digest = words.fold(0, |digest, line| {
        line.bytes().fold(digest, |digest: u64, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    });
    Report {
        violations: found,
        counts: std::mem::take(&mut town.counts),
        digest,
        trace: town.trace.take().unwrap_or_default(),
    }
}

fn options(random: &mut Random) -> RedisOptions {
    let mut options = RedisOptions::default();
    options.dead_after = Duration::from_secs(random.pick(&[1, 2, 5]));
    options.heartbeat = Duration::from_secs(random.pick(&[1, 10]));
    options.max_in_flight = random.pick(&[2, 16_384, 16_384]);
    options
}

/// Single operations on one node.
async fn one_node(town: &Shared, io: &IoThread, random: &mut Random, found: &mut Vec<String>) {
    let shape = random.pick(&[
        Shape::Server,
        Shape::Server,
        Shape::Sentinels,
        Shape::Cluster,
    ]);
    let url = town.lock().expect("no panic").add(shape);
    let mut options = options(random);
    let is_checked = shape != Shape::Cluster && random.chance(4000);
    let max_ttl = Duration::from_secs(2);
    options.checked_set =
        is_checked.then(|| Arc::new(CheckedSet::new(RestartCheck::Standard, max_ttl, 1)));
    let dead_after = u64::try_from(options.dead_after.as_micros()).unwrap_or(u64::MAX);
    let node = RedisNode::start("node", address(&url), options, io);
    node.settled().await;
    let desk = Arc::new(Desk {
        town: Arc::clone(town),
        node: Arc::new(node),
        shape,
        asked: Mutex::default(),
        clock: io.environment().clock,
    });
    // A Cluster's watch ends where its slot goes away.
    let waiting = if shape == Shape::Cluster {
        None
    } else {
        let begun = Waiting::begin(&desk, "{b}9", random).await;
        begun.map_err(|problem| found.push(problem)).ok()
    };
    let troubles = Troubles {
        goes_on: true,
        forgets: random.chance(5000),
    };
    town.lock().expect("no panic").is_calm = false;
    let troubling = tokio::spawn(trouble(Arc::clone(town), random.fork(), troubles));
    let callers: Vec<_> = (0..=random.below(4))
        .map(|_| tokio::spawn(raw::call(Arc::clone(&desk), random.fork())))
        .collect();
    sleep(TROUBLED).await;
    troubling.abort();
    town.lock().expect("no panic").calm_down();
    for caller in callers {
        if let Err(error) = caller.await {
            found.push(format!("a caller panicked: {error}"));
        }
    }
    sleep(RECOVERY).await;
    if let Some(waiting) = waiting {
        found.extend(waiting.end(&desk).await.err());
    }
    match Waiting::begin(&desk, "{b}0", random).await {
        Ok(waiting) => found.extend(waiting.end(&desk).await.err()),
        Err(problem) => found.push(problem),
    }
    raw::say_goodbye(&desk, random).await;
    let asked = desk.asked.lock().expect("no panic").clone();
    let desk = Arc::into_inner(desk);
    drop(desk);
    sleep(Duration::from_secs(12)).await;
    let mut town = town.lock().expect("no panic");
    // The last question has no one left to be answered to.
    let answered = &asked[..asked.len().saturating_sub(2)];
    // The oldest may have been sent once more behind others; and servers of a Cluster send each other
    // callers.
    let hops = if shape == Shape::Cluster { 12 } else { 2 };
    check::answers(&mut town, answered, hops * (dead_after + 10_000), found);
    let released = asked.iter().filter(|asked| asked.kind == Kind::Release);
    let released: BTreeSet<_> = released.map(|asked| asked.token.clone()).collect();
    check::leftovers(&mut town, &released, found);
}

/// Locks over three nodes.
async fn locks(town: &Shared, io: &IoThread, random: &mut Random, found: &mut Vec<String>) {
    let shapes = [
        Shape::Server,
        Shape::Server,
        Shape::Server,
        Shape::Sentinels,
        Shape::Cluster,
    ];
    let shapes = [0, 1, 2].map(|_| random.pick(&shapes));
    let urls = shapes.map(|shape| town.lock().expect("no panic").add(shape));
    let table = Arc::new(Table::default());
    let mut processes = Vec::new();
    for _ in 0..2 {
        let options = options(random);
        let nodes = urls.iter().enumerate().map(|(seat, url)| {
            let name = format!("node{seat}");
            RedisNode::start(name, address(url), options.clone(), io)
        });
        let nodes: Vec<RedisNode> = nodes.collect();
        for node in &nodes {
            node.settled().await;
        }
        let nodes = nodes
            .into_iter()
            .map(|node| Arc::new(node) as Arc<dyn Node>);
        let nodes: NodeSet = nodes.collect();
        processes.push(Process {
            town: Arc::clone(town),
            client: Client::new(io.environment()),
            nodes,
            table: Arc::clone(&table),
            is_clustered: shapes.contains(&Shape::Cluster),
        });
    }
    let troubles = Troubles {
        goes_on: false,
        forgets: false,
    };
    town.lock().expect("no panic").is_calm = false;
    let troubling = tokio::spawn(trouble(Arc::clone(town), random.fork(), troubles));
    let mut callers = Vec::new();
    for process in &processes {
        for _ in 0..=random.below(4) {
            callers.push(tokio::spawn(process.clone().run(random.fork())));
        }
    }
    sleep(TROUBLED).await;
    troubling.abort();
    town.lock().expect("no panic").calm_down();
    for caller in callers {
        if let Err(error) = caller.await {
            found.push(format!("a caller panicked: {error}"));
        }
    }
    sleep(RECOVERY).await;
    let mut town = town.lock().expect("no panic");
    let all: BTreeSet<_> = town
        .served
        .iter()
        .map(|served| served.token.clone())
        .collect();
    check::leftovers(&mut town, &all, found);
    found.append(&mut table.found.lock().expect("no panic"));
}

fn address(url: &str) -> RedisAddress {
    RedisAddress::parse(url).expect("a URL")
}

/// Tokio's clock, with the servers' time.
struct PausedClock(Instant);

impl Clock for PausedClock {
    fn now(&self) -> Moment {
        Moment::from_origin(self.0.elapsed())
    }

    fn wall(&self) -> Duration {
        Duration::from_micros(EPOCH_MICROS) + self.0.elapsed()
    }

    fn sleep_until(&self, at: Moment) -> Sleep {
        let left = at.saturating_since(self.now());
        Sleep::new(sleep(left))
    }
}

/// Tasks of the same runtime.
struct Here;

impl Spawn for Here {
    fn spawn(&self, task: Task) {
        tokio::spawn(task);
    }
}
