//! Callers in runtimes of every kind. A connection is lent to a runtime whose callers come one at a time. No such
//! runtime may delay the votes and the renewals of others, however it stands still or ends.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use actix_web::rt::System;
use redlock_core::lease::Released;
use redlock_core::redis::RedisOptions;
use redlock_core::request::Renewal;
use redlock_core::{Client, Node, NodeSet, Request};
use redlock_tests::{Authority, NodeOptions, Nodes, Proxy, eventually};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;

use crate::core::fixture::{SOON, client, connect_with, once, patient, until_voting};
use crate::tls::fixture::{node, trusting};

/// The ttl of a lock that is renewed while its runtime stands still. On a busy machine, an eighth of it passes
/// without a fault.
const TTL: Duration = Duration::from_secs(3);

const WORKERS: usize = 2;

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi() -> Runtime {
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(WORKERS).enable_all().build();
    runtime.unwrap()
}

/// The library looks at lent connections, and suspects no node.
fn looking() -> RedisOptions {
    let mut options = patient();
    options.suspect_after = Duration::from_secs(4);
    options
}

struct Scene {
    nodes: Nodes,
    set: NodeSet,
    _authority: Option<Authority>,
}

impl Scene {
    async fn plain(options: &RedisOptions) -> Self {
        let nodes = Nodes::start(3).await;
        let set = connect_with(nodes.urls(), options).await;
        Self {
            nodes,
            set,
            _authority: None,
        }
    }

    async fn with_tls(options: &RedisOptions) -> Self {
        let authority = Authority::new();
        let nodes = Nodes::start_with(3, NodeOptions::default().tls(&authority)).await;
        let trusting = trusting(&authority);
        let urls = nodes.urls().into_iter();
        let each = urls.map(|url| node(&url, &trusting, options.clone()));
        let each: Vec<_> = each.collect();
        for node in &each {
            node.settled().await;
        }
        Self {
            nodes,
            set: each.into_iter().map(|node| node as Arc<dyn Node>).collect(),
            _authority: Some(authority),
        }
    }
}

/// Locks and releases so often, one pair behind the other, that every connection is lent to the runtime.
async fn warm_up(client: Client, set: NodeSet, resource: &'static str) {
    for _ in 0..40 {
        let lease = client.acquire(&set, &once(resource)).await.unwrap();
        assert_eq!(lease.release().await, Released::Confirmed);
    }
}

/// Blocks all workers of `runtime`, until the returned sender is dropped.
fn block(runtime: &Runtime) -> Vec<mpsc::Sender<()>> {
    let (tell, told) = mpsc::channel();
    let block = |_| {
        let (open, opened) = mpsc::channel::<()>();
        let tell = tell.clone();
        runtime.spawn(async move {
            tell.send(()).unwrap();
            let _ = opened.recv();
        });
        open
    };
    let gates = (0..WORKERS).map(block).collect();
    for _ in 0..WORKERS {
        told.recv_timeout(SOON).expect("a worker is free");
    }
    gates
}

/// All that holds `lease` stands still for two ttls, while others lock and release. Where the library looks at lent
/// connections less often than that, only their operations make it take a connection back.
fn others_are_served_and_the_lease_is_renewed(
    scene: &Scene,
    runtime: &Runtime,
    stop: impl FnOnce(&Runtime) -> Vec<mpsc::Sender<()>>,
) {
    let (client, Scene { nodes, set, .. }) = (client(), scene);
    let request = Request {
        ttl: TTL,
        renewal: Renewal::Unlimited,
        ..once("held")
    };
    let lease = runtime.block_on(async {
        let lease = client.acquire(set, &request).await.unwrap();
        warm_up(client.clone(), set.clone(), "warm").await;
        lease
    });
    let gates = stop(runtime);
    let other = multi();
    other.block_on(async {
        while lease.held_for() < TTL * 2 {
            let pair = client.acquire(set, &once("other")).await.unwrap();
            assert_eq!(pair.release().await, Released::Confirmed);
            // No more load than it takes.
            tokio::time::sleep(TTL / 300).await;
        }
    });
    assert_eq!(lease.over(), None);
    assert!(lease.extensions() > 1);
    drop(gates);
    let released = runtime.block_on(lease.release());
    assert_eq!(released, Released::Confirmed);
    other.block_on(nodes.assert_no_keys(SOON));
}

#[test]
fn a_runtime_that_nobody_drives_delays_nobody() {
    let scene = current().block_on(Scene::plain(&patient()));
    others_are_served_and_the_lease_is_renewed(&scene, &current(), |_| Vec::new());
}

#[test]
fn a_runtime_whose_workers_all_block_delays_nobody() {
    let scene = current().block_on(Scene::plain(&patient()));
    others_are_served_and_the_lease_is_renewed(&scene, &multi(), block);
}

#[test]
fn a_runtime_whose_workers_all_block_delays_nobody_under_tls() {
    let scene = current().block_on(Scene::with_tls(&patient()));
    others_are_served_and_the_lease_is_renewed(&scene, &multi(), block);
}

/// Drops leases outside of any runtime, in a runtime that is not polled after the drop, and after the end of their
/// runtime.
fn leases_are_released(Scene { nodes, set, .. }: &Scene) {
    let client = &client();
    let main = current();
    for turn in 0..12 {
        let runtime = if turn % 2 == 0 { current() } else { multi() };
        let local = LocalSet::new();
        let lock = || {
            local.block_on(&runtime, async {
                let warming_up = warm_up(client.clone(), set.clone(), "warm");
                tokio::task::spawn_local(warming_up).await.unwrap();
                client.acquire(set, &once("r")).await.unwrap()
            })
        };
        let lease = lock();
        match turn % 3 {
            0 => drop(lease),
            1 => local.block_on(&runtime, async { drop(lease) }),
            _ => {
                drop(local);
                drop(runtime);
                drop(lease);
            }
        }
        main.block_on(nodes.assert_no_keys(SOON));
    }
}

#[test]
fn what_a_local_set_or_a_runtime_leaves_behind_is_released() {
    leases_are_released(&current().block_on(Scene::plain(&looking())));
}

#[test]
fn what_a_local_set_or_a_runtime_leaves_behind_is_released_under_tls() {
    leases_are_released(&current().block_on(Scene::with_tls(&looking())));
}

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A thread with a runtime of actix, as its servers have several.
struct Worker {
    work: UnboundedSender<Work>,
    thread: JoinHandle<()>,
}

impl Worker {
    fn start() -> Self {
        let (work, mut works) = unbounded_channel::<Work>();
        let thread = std::thread::spawn(move || {
            System::new().block_on(async {
                while let Some(work) = works.recv().await {
                    work.await;
                }
            });
        });
        Self { work, thread }
    }

    /// What `work` returns, once it has run there.
    fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> mpsc::Receiver<T> {
        let (tell, told) = mpsc::channel();
        let work = Box::pin(async move {
            let _ = tell.send(work.await);
        });
        assert!(self.work.send(work).is_ok());
        told
    }
}

#[test]
fn workers_of_actix_take_turns_and_one_that_blocks_delays_no_other() {
    let Scene { nodes, set, .. } = current().block_on(Scene::plain(&looking()));
    let client = client();
    let workers = [Worker::start(), Worker::start(), Worker::start()];
    let names = ["a", "b", "c"];
    let call = |place: usize| {
        let warming_up = warm_up(client.clone(), set.clone(), names[place]);
        workers[place].run(warming_up)
    };
    for place in [0, 1, 2, 1, 0] {
        call(place).recv_timeout(SOON * 3).expect("it has its turn");
    }
    for all in (0..3).map(call).collect::<Vec<_>>() {
        all.recv_timeout(SOON * 3).expect("all at once");
    }
    call(0).recv_timeout(SOON * 3).expect("the loan is its");
    let (its_client, its_set) = (client.clone(), set.clone());
    let (open, opened) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    let blocked = workers[0].run(async move {
        let lease = its_client.acquire(&its_set, &once("held")).await.unwrap();
        tell.send(()).unwrap();
        let _ = opened.recv();
        lease.release().await
    });
    told.recv_timeout(SOON).expect("it holds the lock");
    for place in [1, 2] {
        call(place).recv_timeout(SOON * 3).expect("others go on");
    }
    drop(open);
    assert_eq!(blocked.recv_timeout(SOON), Ok(Released::Confirmed));
    current().block_on(nodes.assert_no_keys(SOON));
    for Worker { work, thread } in workers {
        drop(work);
        thread.join().unwrap();
    }
}

#[test]
fn a_release_that_a_runtime_with_a_stopped_clock_could_not_send_is_sent_later() {
    let main = current();
    let nodes = main.block_on(Nodes::start(3));
    let proxy = main.block_on(Proxy::start(&nodes[0]));
    let mut urls = nodes.urls();
    urls[0] = proxy.url();
    let set = main.block_on(connect_with(urls, &looking()));
    let client = client();
    let mut paused = Builder::new_current_thread();
    let paused = paused.enable_all().start_paused(true).build().unwrap();
    for _ in 0..3 {
        main.block_on(until_voting(&set[0], true));
        let lease = paused.block_on(async {
            warm_up(client.clone(), set.clone(), "warm").await;
            client.acquire(&set, &once("r")).await.unwrap()
        });
        main.block_on(async {
            eventually("the third vote", SOON, || async {
                let is_there = nodes[0].get("r").is_some();
                is_there.then_some(()).ok_or_else(|| "missing".to_owned())
            })
            .await;
            proxy.cut().await;
            until_voting(&set[0], false).await;
        });
        paused.block_on(async {
            tokio::time::advance(Duration::from_secs(3600)).await;
            assert_eq!(lease.over(), None, "it has another clock");
            assert_eq!(lease.release().await, Released::Confirmed);
        });
        main.block_on(async {
            proxy.restore().await;
            nodes.assert_no_keys(SOON).await;
        });
    }
}
