//! The lock service of etcd, in which a member runs the mutex of its Go client.
//!
//! Each caller has a key under its lease. The lowest revision has the lock, and each caller waits for the end of the
//! previous one.

use std::str::FromStr as _;

use redlock_benches::Locks;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

/// As many as any case has in a process.
const CALLERS: usize = 16;

/// Of the leases, in s. A client would renew them every third of a shorter time.
const TTL: i64 = 3_600;

// These are the messages of etcd's interface, without the fields that are not used here.

#[derive(Clone, PartialEq, prost::Message)]
struct LeaseGrantRequest {
    #[prost(int64, tag = "1")]
    ttl: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LeaseGrantResponse {
    #[prost(int64, tag = "2")]
    id: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LockRequest {
    #[prost(bytes = "vec", tag = "1")]
    name: Vec<u8>,
    #[prost(int64, tag = "2")]
    lease: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LockResponse {
    #[prost(bytes = "vec", tag = "2")]
    key: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct UnlockRequest {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct UnlockResponse {}

pub(crate) struct Etcd {
    members: Vec<Channel>,
    /// Each caller's.
    leases: Vec<i64>,
}

impl Etcd {
    pub(crate) async fn connect(urls: &[String]) -> Self {
        let member = |url: &String| Endpoint::from_str(url).expect("a URL").connect_lazy();
        let mut etcd = Self {
            members: urls.iter().map(member).collect(),
            leases: Vec::new(),
        };
        for caller in 0..CALLERS {
            let request = LeaseGrantRequest { ttl: TTL };
            let granted = etcd.ask(caller, "/etcdserverpb.Lease/LeaseGrant", &request);
            let granted: LeaseGrantResponse = granted.await.expect("a lease");
            etcd.leases.push(granted.id);
        }
        etcd
    }

    /// Asks the caller's member, and then the others if it is down, as the Go client does. All of these
    /// questions can be asked twice.
    async fn ask<Q, A>(&self, caller: usize, path: &'static str, question: &Q) -> Result<A, String>
    where
        Q: prost::Message + Clone + 'static,
        A: prost::Message + Default + 'static,
    {
        let mut last = String::new();
        for turn in 0..self.members.len() {
            let channel = self.members[(caller + turn) % self.members.len()].clone();
            let mut grpc = Grpc::new(channel);
            let asked = async {
                grpc.ready()
                    .await
                    .map_err(|error| Status::unavailable(error.to_string()))?;
                let path = path.parse().expect("a path");
                let codec = ProstCodec::<Q, A>::default();
                grpc.unary(Request::new(question.clone()), path, codec)
                    .await
            };
            match asked.await {
                Ok(answer) => return Ok(answer.into_inner()),
                Err(status) => last = status.to_string(),
            }
        }
        Err(last)
    }
}

impl Locks for Etcd {
    /// The key in the log.
    type Held = Vec<u8>;

    async fn acquire(&self, caller: usize, key: &str) -> Result<Vec<u8>, String> {
        let request = LockRequest {
            name: key.as_bytes().to_vec(),
            lease: self.leases[caller],
        };
        let locked = self.ask(caller, "/v3lockpb.Lock/Lock", &request);
        let locked: LockResponse = locked.await?;
        Ok(locked.key)
    }

    async fn release(&self, caller: usize, key: Vec<u8>) -> Result<(), String> {
        let request = UnlockRequest { key };
        let unlocked = self.ask(caller, "/v3lockpb.Lock/Unlock", &request);
        let _: UnlockResponse = unlocked.await?;
        Ok(())
    }
}
