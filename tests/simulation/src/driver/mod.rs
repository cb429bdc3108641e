//! The node driver itself, unchanged, over simulated sockets. Streams are cut anywhere, answers are late,
//! connections break on one side or both, servers hang, restart, forget scripts, fail over, give slots away,
//! and answer with garbage.
#![doc = include_str!("simulation.md")]

mod check;
mod hand;
mod host;
mod lending;
mod loans;
mod locks;
mod log;
mod network;
mod places;
mod raw;
mod resp;
mod scripts;
mod slots;
mod time;
mod town;
mod trouble;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::restart_check::{CheckedSet, RestartCheck};
use redlock_core::{Client, Environment, IoThread, Node, NodeSet, RedisNode, simulation};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::random::{Random, SeededEntropy};
use lending::{Runtimes, Whereabouts};
use locks::{Process, Table};
use log::Kind;
use network::Streets;
use places::Shape;
use raw::{Desk, Waiting};
use time::{Here, PausedClock};
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
    let mut random = Random::new(seed);
    let runtimes = Runtimes::new(&mut random);
    let resting = Arc::clone(&runtimes);
    let home = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .on_thread_park(move || resting.at_rest())
        .build()
        .expect("a runtime");
    let report = runtimes.drive(&home, play(random, Arc::clone(&runtimes), is_traced));
    // Whatever is still there ends within the simulation.
    runtimes.close();
    drop(home);
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

async fn play(mut random: Random, runtimes: Arc<Runtimes>, is_traced: bool) -> Report {
    let clock = Arc::new(PausedClock::new());
    let town = Town::new(Arc::clone(&clock) as _, random.fork(), is_traced);
    let town: Shared = Arc::new(Mutex::new(town));
    let streets = Streets {
        town: Arc::clone(&town),
        runtimes: Arc::clone(&runtimes),
        chance: Mutex::new(random.fork()),
    };
    simulation::enter(Arc::new(streets));
    let environment = Environment {
        clock,
        entropy: Arc::new(SeededEntropy::new(random.fork())),
        spawner: Arc::new(Here(Handle::current())),
    };
    let io = IoThread::simulated(Handle::current(), environment.clone());
    let mut found = Vec::new();
    let callers = Callers {
        is_lending: random.chance(6000),
        runtimes,
        town: Arc::clone(&town),
    };
    let is_one_node = random.chance(6000);
    callers.count(match (is_one_node, callers.is_lending) {
        (true, false) => "runs on one node",
        (true, true) => "runs on one node that lends",
        (false, false) => "runs on three nodes",
        (false, true) => "runs on three nodes that lend",
    });
    if is_one_node {
        one_node(&callers, &io, &mut random, &mut found).await;
    } else {
        locks(&callers, &io, &mut random, &mut found).await;
    }
    let mut town = town.lock().expect("no panic");
    if town.counts.contains_key("nonsense") {
        found.push("the driver sent what is no command".to_owned());
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

/// Where the callers of a run are.
struct Callers {
    town: Shared,
    runtimes: Arc<Runtimes>,
    /// In runtimes of their own, and not in the library's.
    is_lending: bool,
}

impl Callers {
    fn count(&self, what: &'static str) {
        self.town.lock().expect("no panic").count(what);
    }

    /// Where the next one is: mostly in one runtime with all others.
    fn next(&self, random: &mut Random) -> Whereabouts {
        let place = if random.chance(9000) {
            0
        } else {
            random.index(self.runtimes.count())
        };
        Whereabouts {
            town: Arc::clone(&self.town),
            runtimes: Arc::clone(&self.runtimes),
            place: self.is_lending.then_some(place),
        }
    }

    /// Lets things go wrong, and returns what ends that.
    fn trouble(&self, random: &mut Random, troubles: Troubles) -> impl FnOnce() + use<> {
        let (town, runtimes) = (Arc::clone(&self.town), Arc::clone(&self.runtimes));
        town.lock().expect("no panic").is_calm = false;
        let outside = trouble(Arc::clone(&town), random.fork(), troubles);
        let within = loans::trouble(Arc::clone(&town), Arc::clone(&runtimes), random.fork());
        let troubling = [tokio::spawn(outside), tokio::spawn(within)];
        move || {
            troubling.iter().for_each(JoinHandle::abort);
            town.lock().expect("no panic").calm_down();
            runtimes.calm_down();
        }
    }
}

fn options(random: &mut Random) -> RedisOptions {
    let mut options = RedisOptions::default();
    // It also sets how often the library looks at a lent connection.
    options.suspect_after = random.pick(&[options.suspect_after, Duration::from_secs(2)]);
    let dead_after = Duration::from_secs(random.pick(&[1, 2, 5]));
    options.dead_after = dead_after.max(options.suspect_after);
    options.heartbeat = Duration::from_secs(random.pick(&[1, 10]));
    options.max_in_flight = random.pick(&[2, 16_384, 16_384]);
    options
}

/// Single operations on one node.
async fn one_node(callers: &Callers, io: &IoThread, random: &mut Random, found: &mut Vec<String>) {
    let town = &callers.town;
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
    let look = options.suspect_after / 16;
    let there = callers.next(random);
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
        let begun = Waiting::begin(&desk, &there, "{b}9", random).await;
        begun.map_err(|problem| found.push(problem)).ok()
    };
    let troubles = Troubles {
        goes_on: true,
        forgets: random.chance(5000),
    };
    let calm_down = callers.trouble(random, troubles);
    let calling: Vec<_> = (0..=random.below(4))
        .map(|_| {
            let there = callers.next(random);
            tokio::spawn(raw::call(Arc::clone(&desk), there, random.fork()))
        })
        .collect();
    sleep(TROUBLED).await;
    calm_down();
    for caller in calling {
        if let Err(error) = caller.await {
            found.push(format!("a caller panicked: {error}"));
        }
    }
    sleep(RECOVERY).await;
    if let Some(waiting) = waiting {
        found.extend(waiting.end(&desk, &there).await.err());
    }
    match Waiting::begin(&desk, &there, "{b}0", random).await {
        Ok(waiting) => found.extend(waiting.end(&desk, &there).await.err()),
        Err(problem) => found.push(problem),
    }
    found.extend(loans::probe(&desk, &there, look, random).await.err());
    raw::say_goodbye(&desk, &there, random).await;
    let asked = desk.asked.lock().expect("no panic").clone();
    let desk = Arc::into_inner(desk);
    drop(desk);
    sleep(Duration::from_secs(12)).await;
    // The oldest may have been sent once more behind others.
    check::answers(town, &asked, 2 * (dead_after + 10_000), found);
    let released = asked
        .iter()
        .filter(|asked| asked.what.kind == Kind::Release);
    let released: BTreeSet<_> = released.map(|asked| asked.what.token.clone()).collect();
    check::leftovers(town, &released, found);
    sleep(raw::LONGEST_TTL).await;
    check::all_gone(town, found);
}

/// Locks over three nodes.
async fn locks(callers: &Callers, io: &IoThread, random: &mut Random, found: &mut Vec<String>) {
    let town = &callers.town;
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
            there: callers.next(random),
            is_clustered: shapes.contains(&Shape::Cluster),
        });
    }
    let troubles = Troubles {
        goes_on: false,
        forgets: false,
    };
    let calm_down = callers.trouble(random, troubles);
    let mut calling = Vec::new();
    for process in &processes {
        for _ in 0..=random.below(4) {
            calling.push(tokio::spawn(process.clone().run(random.fork())));
        }
    }
    sleep(TROUBLED).await;
    calm_down();
    for caller in calling {
        if let Err(error) = caller.await {
            found.push(format!("a caller panicked: {error}"));
        }
    }
    sleep(RECOVERY).await;
    let of_all = |town: &Town| {
        let served = town.served.iter();
        served.map(|served| served.what.token.clone()).collect()
    };
    let all: BTreeSet<_> = of_all(&town.lock().expect("no panic"));
    check::leftovers(town, &all, found);
    sleep(locks::LONGEST_TTL).await;
    check::all_gone(town, found);
    found.append(&mut table.found.lock().expect("no panic"));
}

fn address(url: &str) -> RedisAddress {
    RedisAddress::parse(url).expect("a URL")
}
