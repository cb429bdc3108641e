//! Permits among processes.

use std::collections::VecDeque;
use std::time::Duration;

use redlock_core::request::Kind;
use redlock_tests::{Proxy, Service};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep, timeout};

use crate::core::fixture::{SOON, client, once};
use crate::core::wakeups::until_trackers;
use crate::faults::scene::Network;

const PROCESSES: usize = 3;
/// The number of callers of each process.
const CALLERS: usize = 4;
const PERMITS: usize = 2;
/// How often a permit changes hands.
const CHANGES: usize = 60;
/// The number of entries of others for which a process waits at most. Two are in its turn. The others are for a
/// busy machine, on which a process may miss its turn several times.
const MOST: usize = 20;
const HOLD: Duration = Duration::from_millis(10);
/// The time to a node and the time back. A process that hears of a release from the nodes asks later than the process
/// that released, on each machine.
const AWAY: Duration = Duration::from_millis(3);

/// A caller that has a permit.
struct Inside {
    process: usize,
    caller: TcpStream,
}

/// Callers of several processes, which the test lets leave one by one.
struct Crowd {
    entries: UnboundedSender<Inside>,
    entered: UnboundedReceiver<Inside>,
}

impl Crowd {
    fn new() -> Self {
        let (entries, entered) = unbounded_channel();
        Self { entries, entered }
    }

    /// Waits in the background until this caller has a permit.
    fn wait_for(&self, mut caller: TcpStream) {
        let entries = self.entries.clone();
        tokio::spawn(async move {
            // The process ends with the test.
            if let Ok(process) = caller.read_u8().await {
                let process = process.into();
                let _ = entries.send(Inside { process, caller });
            }
        });
    }

    /// Returns the next caller that has a permit.
    async fn next(&mut self) -> Inside {
        let next = timeout(SOON, self.entered.recv()).await;
        next.expect("somebody gets a free permit")
            .expect("a channel of ours")
    }

    /// Lets a caller leave, which asks again at once.
    async fn let_leave(&self, mut inside: Inside) {
        inside.caller.write_u8(0).await.expect("a caller that runs");
        self.wait_for(inside.caller);
    }
}

/// Starts processes whose callers wait for a permit over `proxies`, and tell `listener` of it.
async fn start_processes(proxies: &[Proxy], listener: &TcpListener, crowd: &Crowd) -> Vec<Service> {
    let address = listener.local_addr().expect("it is bound").to_string();
    let mut processes = Vec::new();
    for process in 0..PROCESSES {
        let mut args = vec![address.clone()];
        args.extend([process, CALLERS, PERMITS].map(|number| number.to_string()));
        args.extend(proxies.iter().map(Proxy::url));
        let program = env!("CARGO_BIN_EXE_callers");
        processes.push(Service::spawn_with_args(program, args, [("", ""); 0], "ready").await);
        for _ in 0..CALLERS {
            crowd.wait_for(listener.accept().await.unwrap().0);
        }
    }
    processes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_waits_is_passed_over_a_few_times_at_most() {
    let network = Network::start(3).await;
    for proxy in &network.proxies {
        proxy.delay(AWAY);
    }
    let permit = once("r").kind(Kind::Permits(2)).ttl(SOON);
    let clients = [client(), client()];
    let all = [
        clients[0].acquire(&network.set, &permit).await.unwrap(),
        clients[1].acquire(&network.set, &permit).await.unwrap(),
    ];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut crowd = Crowd::new();
    let _processes = start_processes(&network.proxies, &listener, &crowd).await;
    for node in &network.nodes {
        until_trackers(node, PROCESSES).await;
    }
    drop(all);

    let mut inside = VecDeque::new();
    let mut entered = Vec::new();
    let mut passed = [0; PROCESSES];
    for _ in 0..CHANGES {
        while inside.len() < PERMITS {
            let next = crowd.next().await;
            passed = passed.map(|passed| passed + 1);
            passed[next.process] = 0;
            entered.push(next.process);
            inside.push_back(next);
            assert!(passed.iter().all(|passed| *passed <= MOST), "{entered:?}");
        }
        assert!(crowd.entered.is_empty(), "more callers than permits");
        sleep(HOLD).await;
        let first = inside.pop_front().expect("one of those with a permit");
        crowd.let_leave(first).await;
    }
}
