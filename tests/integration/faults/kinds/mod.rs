//! Faults under permits, readers and writers: each fault with each kind of holder.

mod failing;
mod restarted;

use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::node::READERS_MARKER;
use redlock_core::request::{Kind, RetryLimit};
use redlock_core::{Lease, NodeSet, Request};
use redlock_tests::{NodeOptions, Nodes, RedisNode};

use crate::core::fixture::{SOON, client, once, unhurried, until_voting};
use crate::faults::scene::{Network, until_served};

const TTL: Duration = Duration::from_secs(600);

const ONE_OF_TWO: Kind = Kind::Permits(2);

/// The holder of the lock `r`. No caller that it excludes may get in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Plain,
    /// Two holders, with one of two permits each.
    PermitEach,
    /// Two readers.
    Readers,
    Writer,
}

impl Held {
    const ALL: [Self; 4] = [Self::Plain, Self::PermitEach, Self::Readers, Self::Writer];

    fn request(self) -> Request {
        once("r").ttl(TTL).kind(match self {
            Self::Plain => Kind::Plain,
            Self::PermitEach => ONE_OF_TWO,
            Self::Readers => Kind::Read,
            Self::Writer => Kind::Write,
        })
    }

    /// The locks that must stay free of other holders meanwhile.
    fn excludes(self) -> Vec<Request> {
        let kinds = match self {
            Self::Plain => vec![Kind::Plain, Kind::Read],
            Self::PermitEach => vec![ONE_OF_TWO],
            Self::Readers => vec![Kind::Write, Kind::Plain],
            Self::Writer => vec![Kind::Read, Kind::Write, Kind::Plain],
        };
        let request = |kind| once("r").ttl(TTL).kind(kind);
        kinds.into_iter().map(request).collect()
    }

    /// The leases, each of a client of its own, once every node has heard of them.
    async fn acquire(self, set: &NodeSet) -> Vec<Lease> {
        let count = match self {
            Self::PermitEach | Self::Readers => 2,
            Self::Plain | Self::Writer => 1,
        };
        let mut leases = Vec::new();
        for _ in 0..count {
            let lease = client().acquire(set, &self.request()).await;
            leases.push(lease.unwrap_or_else(|error| panic!("{self:?}: {error}")));
            until_served(set).await;
        }
        leases
    }
}

/// The owner tokens of all who have `r` or a permit of it on `node`.
fn owners(node: &RedisNode) -> Vec<Vec<u8>> {
    let keys = ["r", "redlock:permit:1:{r}"];
    let mut owners: Vec<_> = keys.iter().filter_map(|key| node.get(key)).collect();
    owners.retain(|owner| owner != READERS_MARKER);
    let readers: Vec<Vec<u8>> = node
        .try_command(["ZRANGE", "redlock:readers:{r}", "0", "-1"])
        .expect("a sorted set");
    owners.extend(readers);
    owners.sort();
    owners
}

/// Advice of those who waited ends by itself.
async fn nothing_is_left(nodes: &Nodes, set: &NodeSet) {
    until_served(set).await;
    nodes.assert_no_keys_but(SOON, |_| false).await;
}

async fn all_excluded_are_refused(held: Held, set: &NodeSet, when: &str) {
    for request in held.excludes() {
        let refused = client().acquire(set, &request).await;
        assert!(
            matches!(refused, Err(AcquireError::Contended(_))),
            "{held:?}, {when}: {:?} gets {refused:?}",
            request.kind
        );
    }
}

/// Each of those who were kept out gets in, one after the other.
async fn all_excluded_get_in(held: Held, set: &NodeSet, when: &str) {
    for request in held.excludes() {
        let lease = unhurried().acquire(set, &waiting(request)).await;
        let lease = lease.unwrap_or_else(|error| panic!("{held:?}, {when}: {error}"));
        drop(lease);
    }
}

/// Tries again until it is in.
fn waiting(request: Request) -> Request {
    request
        .retry_limit(RetryLimit::Wait(SOON))
        .retry_delay(Duration::from_millis(10))
}

async fn extend(held: Held, leases: &[Lease], when: &str) {
    for lease in leases {
        let extended = lease.extend(TTL).await;
        extended.unwrap_or_else(|error| panic!("{held:?}, {when}: {error}"));
    }
}

async fn release(held: Held, leases: Vec<Lease>, when: &str) {
    for lease in leases {
        let released = lease.release().await;
        assert_eq!(released, Released::Confirmed, "{held:?}, {when}");
    }
}

/// What happens to a node, and ends again. It keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Killed,
    Frozen,
    CutOff,
    RequestsLost,
    AnswersLost,
}

impl Fault {
    const ALL: [Self; 5] = [
        Self::Killed,
        Self::Frozen,
        Self::CutOff,
        Self::RequestsLost,
        Self::AnswersLost,
    ];

    /// True if clients are told at once.
    fn is_noticed(self) -> bool {
        matches!(self, Self::Killed | Self::CutOff)
    }

    async fn begin(self, network: &Network, count: usize) {
        for seat in 0..count {
            let (node, proxy) = (&network.nodes[seat], &network.proxies[seat]);
            match self {
                Self::Killed => node.kill(),
                Self::Frozen => node.freeze(),
                Self::CutOff => proxy.cut().await,
                Self::RequestsLost => proxy.swallow_to_server(),
                Self::AnswersLost => proxy.swallow_to_client(),
            }
            if self.is_noticed() {
                until_voting(&network.set[seat], false).await;
            }
        }
    }

    async fn end(self, network: &Network, count: usize) {
        for seat in 0..count {
            let (node, proxy) = (&network.nodes[seat], &network.proxies[seat]);
            match self {
                Self::Killed => node.restart().await,
                Self::Frozen => node.thaw(),
                Self::CutOff | Self::RequestsLost | Self::AnswersLost => proxy.restore().await,
            }
        }
        until_served(&network.set).await;
    }
}

/// Nodes behind proxies, which write to disk what they hold.
async fn network(n: usize) -> Network {
    let nodes = Nodes::start_with(n, NodeOptions::default().append_only()).await;
    let (proxies, set) = Network::to(&nodes).await;
    Network {
        nodes,
        proxies,
        set,
    }
}
