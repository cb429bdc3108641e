//! A loopback proxy in front of a node. The tour closes the proxy to lose a node that it does not own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

pub(crate) struct Proxy {
    address: SocketAddr,
    /// `host:port` of the node.
    target: String,
    /// Owns the listener and the connections; `None` while the proxy is closed.
    serving: Option<JoinHandle<()>>,
}

impl Proxy {
    pub(crate) async fn start(target: String) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        Ok(Self {
            address: listener.local_addr()?,
            serving: Some(tokio::spawn(serve(listener, target.clone()))),
            target,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks all connections and refuses new ones.
    pub(crate) async fn close(&mut self) {
        if let Some(serving) = self.serving.take() {
            serving.abort();
            // Only now the port is closed; the error says that the task was aborted.
            let _ = serving.await;
        }
    }

    /// Accepts connections again, at the same address.
    pub(crate) async fn open(&mut self) -> io::Result<()> {
        if self.serving.is_none() {
            let listener = TcpListener::bind(self.address).await?;
            self.serving = Some(tokio::spawn(serve(listener, self.target.clone())));
        }
        Ok(())
    }
}

async fn serve(listener: TcpListener, target: String) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                connections.spawn(pass_on(stream, target.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Either side ends the connection for both.
async fn pass_on(mut client: TcpStream, target: String) {
    let Ok(mut node) = TcpStream::connect(target).await else {
        return;
    };
    let _ = client.set_nodelay(true);
    let _ = node.set_nodelay(true);
    let _ = copy_bidirectional(&mut client, &mut node).await;
}
