//! Permits, readers and writers, when a replica takes the place of a master.

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::request::Kind;
use redlock_core::{Lease, NodeSet, Request};
use redlock_tests::{RedisCluster, eventually};

use crate::cluster::failover::{LONG, extend_soon};
use crate::cluster::fixture::{SOON, client, connect, once, until_voting};

/// A lock of each kind on one master, each under a name of its own.
struct Kinds {
    set: NodeSet,
    permits: [Lease; 2],
    readers: [Lease; 2],
    writer: Lease,
}

fn with(lease: &Lease, kind: Kind) -> Request {
    let mut request = Request::new(lease.resource().clone()).retries(0).ttl(LONG);
    request.kind = kind;
    request
}

fn one_of_two() -> Kind {
    Kind::Permits(2)
}

impl Kinds {
    async fn acquire(cluster: &RedisCluster, set: &NodeSet) -> Self {
        let acquire = async |name: &str, kind| {
            let request = once(&cluster.name_at(0, name)).ttl(LONG).kind(kind);
            client().acquire(set, &request).await.expect(name)
        };
        Self {
            set: set.clone(),
            permits: [
                acquire("permits", one_of_two()).await,
                acquire("permits", one_of_two()).await,
            ],
            readers: [
                acquire("readers", Kind::Read).await,
                acquire("readers", Kind::Read).await,
            ],
            writer: acquire("writer", Kind::Write).await,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Lease> {
        let several = self.permits.iter().chain(&self.readers);
        several.chain([&self.writer])
    }

    /// Checks that the leases are extended, and that a caller that they exclude gets no lock.
    async fn hold(&self) {
        for lease in self.all() {
            extend_soon(lease).await;
        }
        for (held, kind) in [
            (&self.permits[0], one_of_two()),
            (&self.readers[0], Kind::Write),
            (&self.readers[0], Kind::Exclusive),
            (&self.writer, Kind::Read),
            (&self.writer, Kind::Write),
        ] {
            let refused = client().acquire(&self.set, &with(held, kind)).await;
            let is_contended = matches!(refused, Err(AcquireError::Contended(_)));
            assert!(is_contended, "{}, {kind}: {refused:?}", held.resource());
        }
        let beside = with(&self.readers[0], Kind::Read);
        let beside = client().acquire(&self.set, &beside).await;
        assert_eq!(beside.unwrap().release().await, Released::Confirmed);
    }

    async fn release(self) {
        let freed = [&self.permits[0], &self.readers[0], &self.writer];
        let freed = freed.map(|lease| with(lease, Kind::Exclusive));
        let Self {
            set,
            permits,
            readers,
            writer,
        } = self;
        for lease in permits.into_iter().chain(readers).chain([writer]) {
            assert_eq!(lease.release().await, Released::Confirmed);
        }
        for request in freed {
            let lease = client().acquire(&set, &request).await;
            assert_eq!(lease.unwrap().release().await, Released::Confirmed);
        }
    }
}

/// Waits until `replica` has all that `master` has: it is sent in order.
async fn until_replicated(cluster: &RedisCluster, master: usize, replica: usize, mark: &str) {
    let mark = cluster.name_at(0, mark);
    cluster[master].set(&mark, "x", None);
    eventually("the replica to have the keys", SOON, async || {
        let keys = cluster[replica].keys();
        let is_there = keys.iter().any(|key| key == mark.as_bytes());
        is_there.then_some(()).ok_or(format!("{keys:?}"))
    })
    .await;
    cluster[master].del(&mark);
}

#[tokio::test]
async fn locks_of_each_kind_that_were_replicated_live_on_when_their_master_dies() {
    let cluster = RedisCluster::start(1).await;
    let set = connect(&cluster).await;
    until_voting(&set).await;
    let slot = cluster.slot_of(cluster.name_at(0, "permits"));
    let held = Kinds::acquire(&cluster, &set).await;
    held.hold().await;
    until_replicated(&cluster, 0, 3, "first").await;
    cluster[0].kill();
    cluster.until_replaced(slot, 3).await;
    until_voting(&set).await;
    held.hold().await;
    held.release().await;
    assert!(client().flush(&set, SOON).await.is_empty());
    cluster.assert_no_lock_keys(SOON).await;
}
