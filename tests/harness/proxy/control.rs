//! The proxy's task: accepts connections, closes them on order.

use super::connection::{self, Rules};
use crate::eventually;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};

const GONE_TIMEOUT: Duration = Duration::from_secs(10);

/// Each order is answered when it has been carried out.
#[derive(Debug)]
pub(super) enum Order {
    Cut(oneshot::Sender<()>),
    Sever(oneshot::Sender<()>),
    /// Listen again, and close the connections that lost something.
    Mend(oneshot::Sender<()>),
    /// Connect new clients to this server.
    Lead(SocketAddr, oneshot::Sender<()>),
}

pub(super) struct Switchboard {
    addr: SocketAddr,
    target: SocketAddr,
    /// `None` while connections are refused.
    listener: Option<TcpListener>,
    /// The socket while connections are refused. It does not listen, but is bound, so that no other
    /// process gets the port.
    reserved: Option<TcpSocket>,
    rules: watch::Receiver<Rules>,
    /// One task a connection; dropping the set closes them all.
    tasks: JoinSet<()>,
    connections: Vec<Connection>,
}

struct Connection {
    task: AbortHandle,
    /// Set by the task when it has swallowed something.
    lossy: Arc<AtomicBool>,
}

impl Switchboard {
    pub(super) fn new(
        addr: SocketAddr,
        target: SocketAddr,
        listener: TcpListener,
        rules: watch::Receiver<Rules>,
    ) -> Self {
        Self {
            addr,
            target,
            listener: Some(listener),
            reserved: None,
            rules,
            tasks: JoinSet::new(),
            connections: Vec::new(),
        }
    }

    /// Ends when the proxy, which holds the other end of `orders`, is dropped.
    pub(super) async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        loop {
            tokio::select! {
                biased;
                order = orders.recv() => match order {
                    Some(order) => self.carry_out(order).await,
                    None => return,
                },
                Some(_) = self.tasks.join_next() => {
                    self.connections.retain(|connection| !connection.task.is_finished());
                }
                client = accept(self.listener.as_ref()) => self.connect(client),
            }
        }
    }

    async fn carry_out(&mut self, order: Order) {
        let done = match order {
            Order::Cut(done) => {
                if self.listener.take().is_some() {
                    self.reserved = Some(reserve(self.addr).await);
                }
                self.tasks.shutdown().await;
                done
            }
            Order::Sever(done) => {
                self.tasks.shutdown().await;
                done
            }
            Order::Mend(done) => {
                self.close_lossy().await;
                if let Some(socket) = self.reserved.take() {
                    let listening = socket.listen(1024);
                    self.listener = Some(listening.expect("a bound socket can listen"));
                }
                done
            }
            Order::Lead(target, done) => {
                self.target = target;
                done
            }
        };
        self.connections
            .retain(|connection| !connection.task.is_finished());
        // Ignore an error, because the sender of the order may have stopped waiting.
        let _ = done.send(());
    }

    async fn close_lossy(&mut self) {
        let lossy = |connection: &&Connection| connection.lossy.load(Ordering::SeqCst);
        for connection in self.connections.iter().filter(lossy) {
            connection.task.abort();
        }
        let closing = |connection: &Connection| !connection.task.is_finished();
        while self.connections.iter().filter(lossy).any(closing) {
            self.tasks.join_next().await;
        }
    }

    fn connect(&mut self, client: TcpStream) {
        let lossy = Arc::new(AtomicBool::new(false));
        let rules = self.rules.clone();
        let serving = connection::serve(client, self.target, rules, Arc::clone(&lossy));
        let task = self.tasks.spawn(serving);
        self.connections.push(Connection { task, lossy });
    }
}

async fn accept(listener: Option<&TcpListener>) -> TcpStream {
    let Some(listener) = listener else {
        return std::future::pending().await;
    };
    loop {
        // Ignore a client that disconnected before the proxy accepted it.
        if let Ok((client, _)) = listener.accept().await {
            return client;
        }
    }
}

/// Binds the proxy's own port again, without listening on it.
///
/// The dropped listener may stay open for a moment, because a child process that is being
/// started has inherited a copy. The copy is closed when the child becomes another program. No
/// event reports that, so the function tries again.
async fn reserve(addr: SocketAddr) -> TcpSocket {
    eventually("the old listener to be gone", GONE_TIMEOUT, async || {
        let socket = TcpSocket::new_v4().expect("a socket");
        // Old connections of this port may linger in TIME_WAIT.
        socket.set_reuseaddr(true).expect("a socket option");
        match socket.bind(addr) {
            Ok(()) => Ok(socket),
            Err(error) => Err(format!("cannot bind {addr}: {error}")),
        }
    })
    .await
}
