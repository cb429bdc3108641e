//! Sockets and random choices for a simulation of the node driver, in the place of the system's.
//!
//! The replacement is per thread. On a thread that has not called [`enter`], the driver uses the system.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Handle;

use crate::env::process::simulated::set_prefix;

/// The network of a simulated process.
pub trait Network: Send + Sync {
    /// Connects to `server`, `host:port`.
    fn connect(&self, server: &str) -> Connecting;

    /// A random number, by the simulation's seed.
    fn random(&self) -> u64;
}

/// A connection that is being made.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Socket>> + Send>>;

/// A client's end of a connection. Dropping it closes it.
pub trait Wire: Send + Sync {
    /// See [`AsyncRead::poll_read`].
    fn poll_read(&self, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>>;

    /// See [`AsyncWrite::poll_write`].
    fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Lets `runtime` watch the connection, and the one before no more. Tasks that wait for the connection are
    /// not woken.
    ///
    /// # Errors
    /// As the system has them.
    ///
    /// # Panics
    /// If that runtime watches no sockets.
    fn move_to(&self, runtime: &Handle) -> io::Result<()>;
}

/// A simulated connection, in the place of the system's socket.
#[derive(Clone)]
pub struct Socket(pub Arc<dyn Wire>);

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.poll_read(context, into)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").finish_non_exhaustive()
    }
}

thread_local! {
    static NETWORK: RefCell<Option<Arc<dyn Network>>> = const { RefCell::new(None) };
}

/// Makes all connections of this thread go through `network`, until [`leave`] is called.
pub fn enter(network: Arc<dyn Network>) {
    NETWORK.set(Some(network));
    set_prefix(Some("simulated/1/"));
}

/// Ends the simulation on this thread.
pub fn leave() {
    set_prefix(None);
    drop(NETWORK.take());
}

fn network() -> Option<Arc<dyn Network>> {
    NETWORK.with_borrow(Clone::clone)
}

pub(crate) fn connect(server: &str) -> Option<Connecting> {
    network().map(|network| network.connect(server))
}

pub(crate) fn chance() -> impl rand::Rng {
    let seed = network().map_or_else(|| rand::rng().random(), |network| network.random());
    StdRng::seed_from_u64(seed)
}
