//! Several processes of one service on the same nodes.

use crate::runtime::fixture::put_in_use;
use crate::services::LONG;
use redlock_tests::{HttpReply, Nodes, Service, eventually, http_request};
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::task::JoinHandle;

/// Hundreds of requests come at once here, on machines with few cores. A node that is merely late
/// must not count as down.
pub(crate) const PATIENT: [(&str, &str); 2] = [
    ("REDLOCK_NODE_TIMEOUT", "20s"),
    ("REDLOCK_CONNECT_TIMEOUT", "20s"),
];

/// Starts three nodes, and says what tells a process of them.
pub(crate) async fn start_nodes() -> (Nodes, Vec<(String, String)>) {
    let nodes = Nodes::start(3).await;
    put_in_use(&nodes);
    let names = ["A", "B", "C"].map(|name| format!("REDLOCK_POOLS_{name}_URL"));
    let mut environment: Vec<_> = names.into_iter().zip(nodes.urls()).collect();
    let patient = PATIENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
    environment.extend(patient);
    (nodes, environment)
}

/// The processes go before their nodes.
pub(crate) struct Fleet {
    pub(crate) services: Vec<Service>,
    pub(crate) nodes: Nodes,
    environment: Vec<(String, String)>,
}

impl Fleet {
    /// Starts three nodes and `size` processes of the program, with `settings` in their environment. The program is the
    /// name of an example of the workspace, and the arguments after it.
    pub(crate) async fn start(program: &str, size: usize, settings: &[(&str, &str)]) -> Self {
        let (nodes, mut environment) = start_nodes().await;
        let journal = journal_of(&nodes).display().to_string();
        environment.push(("ORDERS_LOG".to_owned(), journal));
        environment.push(("DATA_DIR".to_owned(), nodes[0].dir().display().to_string()));
        environment.push(("LISTEN".to_owned(), "127.0.0.1:0".to_owned()));
        for &(name, value) in settings {
            environment.retain(|(set, _)| *set != name);
            environment.push((name.to_owned(), value.to_owned()));
        }
        let mut fleet = Self {
            services: Vec::with_capacity(size),
            nodes,
            environment,
        };
        for _ in 0..size {
            fleet.add(program, "listening on ").await;
        }
        fleet
    }

    /// Starts one more process, of that program or another, and waits for its ready line.
    pub(crate) async fn add(&mut self, program: &str, ready_line_prefix: &str) -> &Service {
        let mut words = program.split(' ');
        let name = words.next().unwrap_or_default();
        let path = Service::build_example(name).await;
        let environment = self.environment.clone();
        let service = Service::spawn_with_args(path, words, environment, ready_line_prefix).await;
        self.services.push(service);
        self.services.last().expect("it was added")
    }

    /// The address of the first process.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.services[0].addr()
    }

    /// Where the processes write down who is in the critical section.
    pub(crate) fn journal(&self) -> PathBuf {
        journal_of(&self.nodes)
    }

    /// Starts the slow work on an order and waits until its critical section has begun.
    pub(crate) async fn hold(&self, order: u64) -> JoinHandle<std::io::Result<HttpReply>> {
        let addr = self.addr();
        let holder = tokio::spawn(async move { post(addr, &slow(order)).await });
        self.until_entered().await;
        holder
    }

    /// Waits until a critical section has begun.
    pub(crate) async fn until_entered(&self) {
        let path = self.journal();
        eventually("a critical section to begin", LONG, async || {
            let journal = std::fs::read_to_string(&path).unwrap_or_default();
            let entered = journal.contains("enter ");
            entered.then_some(()).ok_or_else(|| self.said())
        })
        .await;
    }

    /// What the processes wrote, for failure messages.
    pub(crate) fn said(&self) -> String {
        let said = self.services.iter().map(ToString::to_string);
        said.collect::<Vec<_>>().join("\n")
    }
}

pub(crate) fn charge(order: u64) -> String {
    format!("/orders/{order}/charge")
}

pub(crate) fn slow(order: u64) -> String {
    format!("/orders/{order}/slow")
}

/// The lock's key on the nodes.
pub(crate) fn key(order: u64) -> String {
    format!("order:{order}")
}

pub(crate) async fn post(addr: SocketAddr, path: &str) -> std::io::Result<HttpReply> {
    http_request(addr, "POST", path, "").await
}

/// A file that goes with the nodes.
fn journal_of(nodes: &Nodes) -> PathBuf {
    nodes[0].dir().join("orders.log")
}
