//! Nodes run on the runtime on which they were started. It may end, stand still, or be one of many.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::node::NodeStatus;
use redlock_core::redis::RedisOptions;
use redlock_core::{Client, NodeSet};
use redlock_tests::{Nodes, eventually};
use tokio::runtime::{Builder, Runtime};

use crate::core::fixture::{SOON, client, connect_with, once, patient, until_voting};

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
fn runtimes_of_both_flavours_follow_one_another() {
    let (client, first) = (client(), multi());
    let (nodes, set) = first.block_on(start(&patient()));
    let held = first.block_on(client.acquire(&set, &once("held"))).unwrap();
    drop(first);
    for runtime in [current(), multi(), current()] {
        runtime.block_on(lock_and_release(&client, &set));
    }
    let last = current();
    assert_eq!(last.block_on(held.release()), Released::Confirmed);
    last.block_on(nodes.assert_no_keys(SOON));
}

#[test]
fn what_a_runtime_leaves_behind_is_released() {
    let client = client();
    for turn in 0..6 {
        let runtime = if turn % 2 == 0 { current() } else { multi() };
        let (nodes, set) = runtime.block_on(start(&patient()));
        let lease = runtime.block_on(client.acquire(&set, &once("r"))).unwrap();
        match turn / 2 {
            // The runtime is not polled after this.
            0 => drop((lease, runtime)),
            1 => {
                runtime.block_on(async { drop(lease) });
                drop(runtime);
            }
            _ => {
                drop(runtime);
                drop(lease);
            }
        }
        current().block_on(nodes.assert_no_keys(SOON));
    }
}

#[test]
fn nodes_that_were_started_outside_of_a_runtime_serve_any() {
    let client = client();
    let nodes = current().block_on(Nodes::start(3));
    let mut set = None;
    // Only waiting for the connections needs a runtime.
    let urls = nodes.urls();
    std::thread::spawn(move || {
        use redlock_core::redis::RedisAddress;
        use redlock_core::{Node, RedisNode};
        let each = urls.iter().zip('a'..).map(|(url, name)| {
            let address = RedisAddress::parse(url).unwrap();
            let io = &crate::core::fixture::IO;
            Arc::new(RedisNode::start(name.to_string(), address, patient(), io)) as Arc<dyn Node>
        });
        each.collect::<NodeSet>()
    })
    .join()
    .map(|started| set = Some(started))
    .unwrap();
    let set = set.unwrap();
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
fn a_runtime_that_stands_still_costs_votes_and_no_time_and_goes_on() {
    let mut options = patient();
    options.suspect_after = Duration::from_millis(100);
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
            until_voting(node, false).await;
            let NodeStatus::Abstaining(error) = node.status() else {
                panic!("{} votes", node.name());
            };
            let text = error.to_string();
            assert!(
                text.ends_with("is too busy, or something blocks it"),
                "{text}"
            );
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
fn a_worker_that_blocks_after_it_dropped_a_lease_delays_no_other() {
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

/// Each task of the runtime takes so long that every timer is late.
#[test]
fn a_dead_connection_is_given_up_on_a_slow_runtime_too() {
    current().block_on(async {
        let nodes = Nodes::start(1).await;
        let mut options = patient();
        options.suspect_after = Duration::from_millis(100);
        options.dead_after = Duration::from_millis(500);
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
        let lost = eventually("the connection to be given up", SOON, async || {
            let health = set[0].health();
            (!health.is_connected)
                .then_some(())
                .ok_or("connected still".to_owned())
        });
        let (refused, ()) = tokio::join!(asking, lost);
        assert!(refused.is_err());
        busy.abort();
    });
}

#[tokio::test]
async fn a_node_without_a_heartbeat_votes() {
    let mut options = patient();
    (options.heartbeat, options.dead_after) = (Duration::MAX, Duration::MAX);
    (options.suspect_after, options.connect_timeout) = (Duration::MAX, Duration::MAX);
    let (_nodes, set) = start(&options).await;
    lock_and_release(&client(), &set).await;
    assert!(set.iter().all(|node| node.health().connections == 1));
}
