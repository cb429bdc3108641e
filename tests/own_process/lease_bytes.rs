//! What a lease takes of the heap. The allocator counts for the whole process.

use std::alloc::System;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::request::Renewal;
use redlock_core::{Client, IoThread, Lease, LeaseHandle, NodeSet, RedisNode, Request, Settings};
use redlock_tests::Nodes;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const SOON: Duration = Duration::from_secs(20);
/// No lease is renewed during the test but by the test.
const TTL: Duration = Duration::from_secs(60 * 60);

const CALLERS: usize = 32;
/// The hash tables of lines and renewals are less full than those of a process with 100,000 leases, so a lease takes
/// no less here.
const LEASES: usize = 20_000;

/// The most bytes of a lease.
const MOST: usize = 4096;

/// Bytes that are allocated right now.
fn live() -> usize {
    let stats = ALLOCATOR.stats();
    // What a reallocation adds or takes is in the other two already.
    stats.bytes_allocated - stats.bytes_deallocated
}

/// The leases of one caller.
async fn held(client: Client, nodes: NodeSet, from: usize) -> Vec<Lease> {
    let mut leases = Vec::with_capacity(LEASES.div_ceil(CALLERS));
    for number in (from..LEASES).step_by(CALLERS) {
        let mut request = Request::new(format!("lease:{number:07}")).ttl(TTL);
        request.renewal = Renewal::Unlimited;
        leases.push(client.acquire(&nodes, &request).await.unwrap());
    }
    leases
}

async fn extended(leases: Vec<LeaseHandle>) {
    for lease in leases {
        lease.extend(TTL).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_takes_no_more_of_the_heap_than_is_said_here() {
    let servers = Nodes::start(3).await;
    let io = IoThread::start().unwrap();
    let mut options = RedisOptions::default();
    options.connect_timeout = SOON;
    options.suspect_after = SOON;
    options.dead_after = SOON * 2;
    let started = servers.iter().zip('a'..).map(|(server, name)| {
        let address = RedisAddress::parse(&server.url()).unwrap();
        Arc::new(RedisNode::start(
            name.to_string(),
            address,
            options.clone(),
            &io,
        ))
    });
    let started: Vec<_> = started.collect();
    for node in &started {
        node.settled().await;
    }
    let nodes: NodeSet = started.into_iter().map(|node| node as _).collect();
    let settings = Settings::default().node_timeout(SOON).key_prefix([]);
    let client = Client::with_settings(io.environment(), settings);
    let first = client
        .acquire(&nodes, &Request::new("first"))
        .await
        .unwrap();
    first.release().await;

    let before = live();
    let callers = (0..CALLERS).map(|from| held(client.clone(), Arc::clone(&nodes), from));
    let callers: Vec<_> = callers.map(tokio::spawn).collect();
    let mut leases = Vec::with_capacity(LEASES);
    for caller in callers {
        leases.append(&mut caller.await.unwrap());
    }
    let shares = leases.chunks(LEASES.div_ceil(CALLERS));
    let shares = shares.map(|share| share.iter().map(Deref::deref).cloned().collect());
    let callers: Vec<_> = shares.map(|share| tokio::spawn(extended(share))).collect();
    for caller in callers {
        caller.await.unwrap();
    }
    let bytes = (live() - before) / LEASES;
    assert!(bytes <= MOST, "it has {bytes} bytes");
    assert!(leases.iter().all(|lease| lease.over().is_none()));
}
