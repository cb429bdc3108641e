//! A network between a client and a node, with faults.

mod connection;
mod control;

use crate::{RedisNode, ports};
use connection::{Gate, Rules};
use control::{Order, Switchboard};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::LazyLock;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

/// The runtime of all proxies, on a separate thread. A test that blocks its runtime, or pauses tokio's clock,
/// must not stop or speed up the network.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("proxy")
        .enable_all()
        .build()
        .expect("a runtime for the proxies")
});

/// A TCP proxy in front of a node. The proxy passes everything on until a test orders a fault. Its drop closes
/// its port and connections.
///
/// TCP never loses a part of a connection and delivers the rest. So [`restore`](Self::restore) closes
/// a connection from which bytes were swallowed, as if it had been interrupted for too long. Bytes
/// that were *held* arrive late instead.
///
/// The proxy accepts before it connects to the node. So if the node is down, the client's connection
/// is closed at once, and not refused. [`cut`](Self::cut) refuses connections.
#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    url: String,
    rules: watch::Sender<Rules>,
    orders: mpsc::UnboundedSender<Order>,
}

impl Proxy {
    /// Starts a proxy in front of `node`.
    pub async fn start(node: &RedisNode) -> Self {
        let target = node.addr();
        let (rules, seen) = watch::channel(Rules::default());
        let (orders, inbox) = mpsc::unbounded_channel();
        let listening = RUNTIME.spawn(async move {
            let listener = bind().await;
            let addr = listener
                .local_addr()
                .expect("a bound socket has an address");
            let switchboard = Switchboard::new(addr, target, listener, seen);
            tokio::spawn(switchboard.run(inbox));
            addr
        });
        let addr = listening.await.expect("the proxy finds a port");
        Self {
            addr,
            url: node.url_at(addr),
            rules,
            orders,
        }
    }

    /// Returns the node's URL with the proxy's address.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Returns the address that the proxy listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Closes all connections and refuses new ones, until [`restore`](Self::restore).
    pub async fn cut(&self) {
        self.order(Order::Cut).await;
    }

    /// Closes all connections; new ones are accepted.
    pub async fn sever(&self) {
        self.order(Order::Sever).await;
    }

    /// Leads new connections to `node`, as the address of a service does after a failover.
    pub async fn lead_to(&self, node: &RedisNode) {
        let target = node.addr();
        self.order(|done| Order::Lead(target, done)).await;
    }

    /// Discards all bytes from clients. Connections stay open, and new connections are accepted.
    pub fn swallow_to_server(&self) {
        self.rules
            .send_modify(|rules| rules.to_server = Gate::Swallow);
    }

    /// Discards the node's answers. The node serves the requests, but the client gets no answer.
    pub fn swallow_to_client(&self) {
        self.rules
            .send_modify(|rules| rules.to_client = Gate::Swallow);
    }

    /// Holds back what clients send, also the end of their connections; it arrives on
    /// [`restore`](Self::restore), like a request that was under way for long.
    pub fn hold_to_server(&self) {
        self.rules.send_modify(|rules| rules.to_server = Gate::Hold);
    }

    /// Holds back the bytes from clients on existing connections. New connections overtake them.
    pub fn hold_present_to_server(&self) {
        let gate = Gate::HoldSince(Instant::now());
        self.rules.send_modify(|rules| rules.to_server = gate);
    }

    /// Holds back what the node answers.
    pub fn hold_to_client(&self) {
        self.rules.send_modify(|rules| rules.to_client = Gate::Hold);
    }

    /// Delivers everything that is read from now on this much later, each way: a round trip takes
    /// twice as long. Pipelined requests are delayed side by side, not one after the other.
    pub fn delay(&self, each_way: Duration) {
        self.rules.send_modify(|rules| rules.delay = each_way);
    }

    /// Ends all faults: accepts connections, passes everything on without delay, delivers what was
    /// held. Connections from which something was swallowed are closed when this returns.
    pub async fn restore(&self) {
        // While swallowed connections are closed, nothing more may be swallowed or let through.
        self.rules.send_modify(|rules| {
            for gate in [&mut rules.to_server, &mut rules.to_client] {
                if *gate == Gate::Swallow {
                    *gate = Gate::Hold;
                }
            }
        });
        self.order(Order::Mend).await;
        self.rules.send_replace(Rules::default());
    }

    async fn order(&self, order: impl FnOnce(oneshot::Sender<()>) -> Order) {
        let (done, carried_out) = oneshot::channel();
        let sent = self.orders.send(order(done));
        sent.expect("the proxy's task lives as long as the proxy");
        carried_out.await.expect("every order is carried out");
    }
}

async fn bind() -> TcpListener {
    loop {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, ports::next())).await {
            Ok(listener) => return listener,
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => panic!("the proxy cannot listen: {error}"),
        }
    }
}
