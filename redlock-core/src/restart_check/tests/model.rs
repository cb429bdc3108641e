//! A model of clients that start, pause between check and write, and check nodes that forget.

use proptest::prelude::*;

use super::*;

const NODES: usize = 3;

struct Node {
    process: u32,
    marker: Option<Vec<u8>>,
    /// True if the node may have a lock to forget.
    has_voted: bool,
    forgot: Option<Duration>,
}

struct Client {
    max_ttl: Duration,
    node_checks: Vec<NodeCheck>,
    /// The writes that the client has not sent yet.
    writes: Vec<Option<MarkerWrite>>,
    connected_to: Vec<Option<u32>>,
    /// The nodes whose last answer to the client had a marker of another wire format.
    foreign: [bool; NODES],
}

#[derive(Clone, Debug)]
enum Event {
    Pass(u64),
    /// A client checks a node, with its pending write if it has one.
    Ask(usize, usize),
    Lose(usize, usize),
    /// A new process takes a client's place.
    Boot(usize),
    Restart(usize),
    /// A node restarts with its marker, but without its newest locks.
    RestartKept(usize),
    Flush(usize),
    /// The operator says that all locks that a node forgot are over.
    Declare(usize),
    /// A client of another wire format marks a blank node, and gets its vote.
    Intrude(usize),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (1_u64..400).prop_map(Event::Pass),
        1 => (1_000_u64..12_000).prop_map(Event::Pass),
        24 => (0..3_usize, 0..NODES).prop_map(|(client, node)| Event::Ask(client, node)),
        1 => (0..3_usize, 0..NODES).prop_map(|(client, node)| Event::Lose(client, node)),
        1 => (0..3_usize).prop_map(Event::Boot),
        1 => (0..NODES).prop_map(Event::Restart),
        1 => (0..NODES).prop_map(Event::RestartKept),
        1 => (0..NODES).prop_map(Event::Flush),
        1 => (0..NODES).prop_map(Event::Declare),
        1 => (0..NODES).prop_map(Event::Intrude),
    ]
}

struct World {
    now: Duration,
    nodes: Vec<Node>,
    clients: Vec<Client>,
    /// The time at which a node last got its first marker, or was opened.
    last_write: Duration,
    votes: usize,
}

impl Node {
    /// True if the node has a marker other than `opening`.
    fn is_opened(&self) -> bool {
        let found = self.marker.as_deref().and_then(Marker::parse);
        found.is_some_and(|found| found.cause != OPENING)
    }
}

impl World {
    fn new(max_ttls: [Duration; 3]) -> Self {
        let node = |process| Node {
            process,
            marker: None,
            has_voted: false,
            forgot: None,
        };
        Self {
            now: ms(1_000_000),
            nodes: (0..).take(NODES).map(node).collect(),
            clients: max_ttls.into_iter().map(boot).collect(),
            last_write: ms(1_000_000),
            votes: 0,
        }
    }

    /// True if the restart check covers a loss of this node's memory. Only one node at a time may forget, and only once
    /// its set is open.
    fn may_forget(&self, node: usize) -> bool {
        self.now >= self.last_write + ms(6_000)
            && self
                .nodes
                .iter()
                .enumerate()
                .all(|(index, other)| index == node || other.is_opened())
    }

    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Pass(span) => self.now += ms(span),
            Event::Ask(client, node) => self.ask(client, node),
            Event::Lose(client, node) => self.lose(client, node),
            Event::Boot(client) => self.clients[client] = boot(self.clients[client].max_ttl),
            Event::Restart(node) if self.may_forget(node) => {
                self.forget(node);
                self.nodes[node].process += 10;
            }
            Event::Flush(node) if self.may_forget(node) => self.forget(node),
            Event::RestartKept(node) if self.may_forget(node) => {
                let kept = self.nodes[node].marker.clone();
                self.forget(node);
                let node = &mut self.nodes[node];
                (node.process, node.marker) = (node.process + 10, kept);
            }
            Event::Restart(_) | Event::RestartKept(_) | Event::Flush(_) => {}
            Event::Declare(node) => {
                let node = &mut self.nodes[node];
                node.marker = Some(IDLE.into());
                (node.has_voted, node.forgot) = (false, None);
            }
            Event::Intrude(node) => {
                let node = &mut self.nodes[node];
                if node.marker.is_none() {
                    node.marker = Some(b"2 of another version".to_vec());
                    node.has_voted = true;
                }
            }
        }
    }

    fn forget(&mut self, node: usize) {
        let now = self.now;
        let node = &mut self.nodes[node];
        node.marker = None;
        // A node that never voted has nothing to forget.
        if std::mem::take(&mut node.has_voted) {
            node.forgot = Some(now);
        }
    }

    fn lose(&mut self, client: usize, node: usize) {
        let client = &mut self.clients[client];
        client.node_checks[node].unreachable();
        client.writes[node] = None;
        client.connected_to[node] = None;
    }

    fn ask(&mut self, client_index: usize, node_index: usize) {
        let process = self.nodes[node_index].process;
        let known = self.clients[client_index].connected_to[node_index];
        if known.is_some_and(|known| known != process) {
            self.lose(client_index, node_index);
        }
        let (client, node) = (&mut self.clients[client_index], &mut self.nodes[node_index]);
        client.connected_to[node_index] = Some(process);
        if let Some(write) = client.writes[node_index].take()
            && write.expected == node.marker
            && self.now <= write.not_after
        {
            if !node.is_opened() {
                self.last_write = self.now;
            }
            node.marker = Some(write.new);
        }
        let run_id = format!("run{process}");
        let now = Moment::from_origin(self.now);
        let marker = node.marker.clone();
        let found = Found::of(marker.as_deref());
        client.foreign[node_index] = matches!(found, Found::Foreign(_));
        let verdict = client.node_checks[node_index].check(&CheckAnswer {
            run_id: Some(&run_id),
            marker: marker.as_deref(),
            time: self.now,
            asked: now,
            answered: now,
        });
        match verdict.expect("each server is a node once").action {
            Action::Vote => {
                self.votes += 1;
                node.has_voted = true;
                if let Some(forgot) = node.forgot {
                    assert!(
                        self.now >= forgot + client.max_ttl,
                        "client {client_index} lets node {node_index} vote {:?} after it forgot",
                        self.now.saturating_sub(forgot),
                    );
                }
            }
            Action::Write(write) => {
                let is_ours = matches!(found, Found::Marker(_));
                assert!(is_ours || client.foreign == [false; NODES]);
                client.writes[node_index] = Some(write);
            }
            Action::Hold { .. } => {}
            Action::Refuse(_) => self.lose(client_index, node_index),
        }
    }
}

fn boot(max_ttl: Duration) -> Client {
    let peers = Arc::new(CheckedSet::new(RestartCheck::Standard, max_ttl, NODES, b""));
    let node_check = |name: char| NodeCheck::new(Arc::clone(&peers), name.to_string(), false);
    Client {
        max_ttl,
        node_checks: ('a'..).take(NODES).map(node_check).collect(),
        writes: vec![None; NODES],
        connected_to: vec![None; NODES],
        foreign: [false; NODES],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_client_lets_a_node_vote_that_forgot_within_its_max_ttl(
        shortest in prop_oneof![Just(MAX_TTL / 10), Just(MAX_TTL)],
        events in prop::collection::vec(event(), 1..400),
    ) {
        let mut world = World::new([shortest, MAX_TTL, MAX_TTL]);
        for event in &events {
            world.apply(event);
        }
    }

    /// The processes boot at once, in any interleaving, and pause anywhere.
    #[test]
    fn a_fleet_that_boots_on_a_new_set_quarantines_nothing(
        asks in prop::collection::vec(
            (0..3_usize, 0..NODES, prop_oneof![9 => Just(5), 1 => Just(60_000)]),
            0..60,
        ),
    ) {
        let mut world = World::new([MAX_TTL; 3]);
        for (client, node, pause) in asks {
            world.apply(&Event::Ask(client, node));
            world.apply(&Event::Pass(pause));
        }
        for _ in 0..60 {
            world.votes = 0;
            for client in 0..3 {
                for node in 0..NODES {
                    world.apply(&Event::Ask(client, node));
                }
            }
            world.apply(&Event::Pass(20));
        }
        for node in &world.nodes {
            let found = Marker::parse(node.marker.as_deref().unwrap()).unwrap();
            prop_assert_eq!(found.cause, NEW);
        }
        prop_assert_eq!(world.votes, 3 * NODES);
    }
}
