//! Nodes run on the runtime on which they were started. It may end, stand still, or be one of many.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::request::RetryLimit;
use redlock_core::{Client, Node, NodeSet, RedisNode};
use redlock_tests::{Nodes, wait_until};
use tokio::runtime::{Builder, Runtime};

use crate::core::fixture::{
    IO, SOON, client, connect_with, once, patient, until_abstaining, until_voting,
};

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi() -> Runtime {
    let mut runtime = Builder::new_multi_thread();
    runtime.worker_threads(1).enable_all().build().unwrap()
}

async fn start(options: &RedisOptions) -> (Nodes, NodeSet) {
    let nodes = Nodes::start(3).await;
    let set = connect_with(nodes.urls(), options).await;
    (nodes, set)
}

async fn lock_and_release(client: &Client, set: &NodeSet) {
    for _ in 0..20 {
        let lease = client.acquire(set, &once("r")).await.unwrap();
        assert_eq!(lease.release().await, Released::Confirmed);
    }
}

#[test]
fn nodes_that_were_started_outside_of_a_runtime_serve_any() {
    let client = client();
    let nodes = current().block_on(Nodes::start(3));
    let started = nodes.urls().into_iter().zip('a'..).map(|(url, name)| {
        let address = RedisAddress::parse(&url).unwrap();
        Arc::new(RedisNode::start(name.to_string(), address, patient(), &IO)) as Arc<dyn Node>
    });
    let set: NodeSet = started.collect();
    // Only waiting for the connections needs a runtime.
    let main = current();
    for node in set.iter() {
        main.block_on(until_voting(node, true));
    }
    for runtime in [current(), multi()] {
        runtime.block_on(lock_and_release(&client, &set));
    }
    main.block_on(nodes.assert_no_keys(SOON));
}

#[test]
fn a_runtime_that_stands_still_costs_votes_and_no_time() {
    let options = patient().suspect_after(Duration::from_millis(100));
    let (client, home, main) = (client(), multi(), current());
    // On a worker of the runtime, and not on this thread.
    let (nodes, set) = main
        .block_on(home.spawn(async move { start(&options).await }))
        .unwrap();
    let lease = main.block_on(client.acquire(&set, &once("held"))).unwrap();
    let (open, opened) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    home.spawn(async move {
        tell.send(()).unwrap();
        let _ = opened.recv();
    });
    told.recv_timeout(SOON).expect("the worker blocks");
    main.block_on(async {
        // A first caller finds out, and those after it are refused at once, with the reason.
        let first = tokio::spawn({
            let (client, set) = (client.clone(), set.clone());
            async move { client.acquire(&set, &once("r")).await.map(drop) }
        });
        for node in set.iter() {
            until_abstaining(node, "is too busy, or something blocks it").await;
        }
        match client.acquire(&set, &once("other")).await {
            Err(AcquireError::Unavailable(error)) => {
                assert!(error.to_string().contains("runtime"), "{error}");
            }
            other => panic!("{other:?}"),
        }
        drop(open);
        for node in set.iter() {
            until_voting(node, true).await;
        }
        // It was queued meanwhile, and is served.
        first.await.unwrap().unwrap();
        assert_eq!(lease.over(), None);
        assert_eq!(lease.release().await, Released::Confirmed);
        nodes.assert_no_keys(SOON).await;
    });
}

/// A worker of tokio keeps the task that it woke last for itself.
#[test]
fn a_worker_that_blocks_behind_a_release_delays_no_other() {
    let mut home = Builder::new_multi_thread();
    let home = home.worker_threads(2).enable_all().build().unwrap();
    let main = current();
    let started = home.spawn(async {
        let nodes = Nodes::start(1).await;
        let set = connect_with(nodes.urls(), &patient()).await;
        (nodes, set)
    });
    let (nodes, set) = main.block_on(started).unwrap();
    let (open, opened) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    let its_set = set.clone();
    let blocks = home.spawn(async move {
        let lease = client().acquire(&its_set, &once("r")).await.unwrap();
        drop(lease);
        tell.send(()).unwrap();
        let _ = opened.recv();
    });
    told.recv_timeout(SOON).expect("the worker blocks");
    main.block_on(async {
        nodes.assert_no_keys(SOON).await;
        lock_and_release(&client(), &set).await;
        drop(open);
        blocks.await.unwrap();
    });
}

/// The next caller in line is woken by the drop.
#[test]
fn a_worker_that_blocks_behind_a_dropped_caller_delays_no_other() {
    let mut home = Builder::new_multi_thread();
    let home = home.worker_threads(2).enable_all().build().unwrap();
    let main = current();
    let started = home.spawn(async { start(&patient()).await });
    let (_nodes, set) = main.block_on(started).unwrap();
    let holder = main.block_on(client().acquire(&set, &once("r"))).unwrap();
    let (open, opened) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    let blocks = home.spawn(async move {
        let (ours, request) = (client(), once("r").retry_limit(RetryLimit::Forever));
        let mut first = Box::pin(ours.acquire(&set, &request));
        tokio::select! {
            biased;
            _ = &mut first => panic!("it is held"),
            () = std::future::ready(()) => {}
        }
        let (its, its_set, its_request) = (ours.clone(), set.clone(), request.clone());
        let next = tokio::spawn(async move { its.acquire(&its_set, &its_request).await });
        while ours.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        drop(first);
        tell.send(next).unwrap();
        let _ = opened.recv();
    });
    let next = told.recv_timeout(SOON).expect("the worker blocks");
    main.block_on(async {
        holder.release().await;
        let acquired = tokio::time::timeout(SOON, next).await;
        acquired.expect("the next caller runs").unwrap().unwrap();
        drop(open);
        blocks.await.unwrap();
    });
}

/// Each task of the runtime takes so long that every timer is late.
#[test]
fn a_dead_connection_is_given_up_on_a_slow_runtime_too() {
    current().block_on(async {
        let nodes = Nodes::start(1).await;
        let options = patient()
            .suspect_after(Duration::from_millis(100))
            .dead_after(Duration::from_millis(500));
        let set = connect_with(nodes.urls(), &options).await;
        nodes[0].freeze();
        let busy = tokio::spawn(async {
            loop {
                std::thread::sleep(Duration::from_millis(120));
                tokio::task::yield_now().await;
            }
        });
        let (client, request) = (client(), once("r"));
        let asking = client.acquire(&set, &request);
        let is_connected = || set[0].health().is_connected;
        let lost = wait_until("the connection to be given up", is_connected, |it| !it);
        let (refused, _) = tokio::join!(asking, lost);
        assert!(refused.is_err());
        busy.abort();
    });
}

#[tokio::test]
async fn a_node_without_a_heartbeat_votes() {
    let options = patient().heartbeat(Duration::MAX).dead_after(Duration::MAX);
    let options = options
        .suspect_after(Duration::MAX)
        .connect_timeout(Duration::MAX);
    let (_nodes, set) = start(&options).await;
    lock_and_release(&client(), &set).await;
    assert!(set.iter().all(|node| node.health().connections == 1));
}
