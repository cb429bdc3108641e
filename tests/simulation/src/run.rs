//! One run, from a seed to a report.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use redlock_core::node::NodeStatus;
use redlock_core::quorum::COUNTER_IDLE;
use redlock_core::restart_check::{CheckedSet, NodeCheck, RestartCheck};
use redlock_core::{Node, NodeSet};

use crate::client::SimulatedClient;
use crate::clock::SkewedClock;
use crate::coverage::Coverage;
use crate::faults::Breakable;
use crate::history::{History, Invariant, Violation};
use crate::link::{Link, Surroundings};
use crate::network::{Network, Weather};
use crate::profile::{Profile, Settings};
use crate::random::Random;
use crate::server::Server;
use crate::world::{Pauses, World};

/// The time in which clients must have ended after the last fault. Every call is bounded, and all
/// bounds together are below this.
const WORKS_UNTIL: Duration = Duration::from_secs(300);

/// The longest time until the nodes are opened for the first time.
const BOOTS_WITHIN: Duration = Duration::from_secs(60);

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The settings that were simulated.
    pub settings: Settings,
    /// The rules that were broken, the first time for each.
    pub violations: Vec<Violation>,
    /// The counts of events.
    pub coverage: Coverage,
    /// A hash of the history: equal only for runs with equal events at equal times.
    pub digest: u64,
    /// A line for all that happened, where it was traced.
    pub trace: Vec<String>,
}

/// Runs the world that `seed` stands for; in `profile`, where one is asked for.
pub fn run(seed: u64, profile: Option<Profile>, is_traced: bool) -> Report {
    let mut random = Random::new(seed);
    let profile = profile.unwrap_or_else(|| Profile::of(seed));
    let settings = Settings::draw(profile, &mut random);
    let world = World::new(settings.clients, random.fork());
    let history = History::new(&world, settings.rules(), is_traced);
    history.note(0, [seed, 0], || format!("{settings:?}"));
    let network = Arc::new(Network::new(Weather::CALM, random.fork()));
    let servers: Arc<[Arc<Server>]> = (0..settings.nodes)
        .map(|seat| {
            let rate = random.between(-settings.rate, settings.rate);
            let most = settings.error_of_nodes();
            let error = random.between(-most, most);
            let clock = Arc::new(SkewedClock::of_node(&world, rate, error));
            if seat < settings.misset {
                clock.step(settings.misset_by);
            }
            Server::new(seat, clock, &history)
        })
        .collect();
    let around = Surroundings {
        world: Arc::clone(&world),
        network: Arc::clone(&network),
        history: Arc::clone(&history),
    };
    let clocks: Vec<_> = (0..settings.clients)
        .map(|id| {
            let rate = random.between(-settings.rate, settings.rate);
            let origin = random.millis(0, 100_000_000);
            let error = random.between(-settings.wall_error, settings.wall_error);
            Arc::new(SkewedClock::of_client(&world, id, rate, origin, error))
        })
        .collect();
    let links: Vec<Vec<Arc<Link>>> = (0..settings.clients)
        .map(|id| connect(&around, id, &servers, &settings, &clocks[id]))
        .collect();
    let clients: Vec<_> = (0..settings.clients)
        .map(|id| {
            let nodes: NodeSet = links[id]
                .iter()
                .map(|link| Arc::clone(link) as Arc<dyn Node>)
                .collect();
            let (clock, servers) = (Arc::clone(&clocks[id]), Arc::clone(&servers));
            let random = random.fork();
            SimulatedClient::new(id, &history, clock, nodes, servers, settings, random)
        })
        .collect();
    let breakable = Arc::new(Breakable {
        world: Arc::clone(&world),
        history: Arc::clone(&history),
        servers,
        links,
        clocks,
        settings,
    });
    // Nobody can tell a node that forgets within the first seconds of its set from a new one.
    let is_open = || {
        let mut links = breakable.links.iter().flatten();
        links.all(|link| matches!(link.status(), NodeStatus::Voting))
    };
    world.run(BOOTS_WITHIN, is_open);
    network.set_weather(settings.weather);
    breakable.plan(&mut random);
    world.set_pauses(settings.pauses);
    for client in &clients {
        for _ in 0..settings.workers {
            client.work(random.fork());
        }
    }
    live(&breakable, &network, &clients);

    let report = Report {
        settings,
        violations: history.violations(),
        coverage: Coverage {
            paused: world.pauses_taken(),
            ..history.coverage()
        },
        digest: history.digest(),
        trace: history.lines(),
    };
    world.end();
    history.forget();
    for client in clients {
        client.forget();
    }
    report
}

fn connect(
    around: &Surroundings,
    id: usize,
    servers: &[Arc<Server>],
    settings: &Settings,
    clock: &Arc<SkewedClock>,
) -> Vec<Arc<Link>> {
    let (restart_check, max_ttl) = (settings.restart_check, settings.max_ttl);
    let checked_set = Arc::new(CheckedSet::new(restart_check, max_ttl, settings.nodes, b""));
    let links: Vec<_> = (servers.iter())
        .map(|server| {
            let name = format!("n{}", server.seat);
            let node_check = NodeCheck::new(Arc::clone(&checked_set), name, settings.trusts_disks);
            let node_check = (settings.restart_check != RestartCheck::Off).then_some(node_check);
            let (around, server) = (around.clone(), Arc::clone(server));
            Link::new(around, id, server, settings, clock, node_check)
        })
        .collect();
    for link in &links {
        let peers = links.iter().map(Arc::downgrade).collect();
        assert!(link.peers.set(peers).is_ok(), "links are made once");
    }
    links
}

/// First everything goes wrong, then the clients finish, then everybody has to get every lock.
fn live(breakable: &Arc<Breakable>, network: &Network, clients: &[Arc<SimulatedClient>]) {
    let (world, history) = (&breakable.world, &breakable.history);
    let settings = &breakable.settings;
    let is_idle = || are_idle(clients);
    // A crash may have been planned to end, or even to begin, a little later.
    let span = settings.span + Duration::from_secs(3);
    world.run(world.now() + span, || false);
    world.set_pauses(Pauses::default());
    network.set_weather(Weather::CALM);
    breakable.heal();
    history.fault(0, || "nothing fails any more".to_owned());
    world.run(world.now() + WORKS_UNTIL, is_idle);
    if !is_idle() {
        history.violated(Invariant::Settles, "a call never came back".to_owned());
        return;
    }
    history.check_all_released();
    // Until all messages have arrived, keys of released locks are gone, and those of abandoned ones
    // and quarantines are over.
    let mut bound = settings.max_ttl * 4 + Duration::from_secs(20);
    if settings.profile == Profile::Wild {
        // Nodes' clocks were stepped back, over and over, and may run at half the speed.
        bound += Duration::from_secs(1200);
    }
    world.run(world.now() + Duration::from_secs(3), || false);
    if settings.misset > 0 {
        world.run(world.now() + bound, || false);
        if settings.misset < settings.nodes && settings.dead == 0 {
            all_get_every_lock(world, history, clients, bound);
        }
        breakable.mend_clocks();
        all_get_every_lock(world, history, clients, bound);
        let later = world.now() + COUNTER_IDLE * 2;
        breakable.leave_alone_until(later);
        world.run(later, || false);
    }
    all_get_every_lock(world, history, clients, bound);
}

fn are_idle(clients: &[Arc<SimulatedClient>]) -> bool {
    let mut clients = clients.iter();
    clients.all(|client| client.busy.load(Ordering::Relaxed) == 0)
}

fn all_get_every_lock(
    world: &Arc<World>,
    history: &History,
    clients: &[Arc<SimulatedClient>],
    bound: Duration,
) {
    for client in clients {
        client.probe(bound);
        world.run(world.now() + bound * 4, || are_idle(clients));
        if !are_idle(clients) {
            history.violated(Invariant::Settles, "a last call never came back".to_owned());
            return;
        }
    }
}
