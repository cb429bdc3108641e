//! One connection through the proxy.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

/// The most chunks in flight in one direction.
const IN_FLIGHT: usize = 1024;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Gate {
    #[default]
    Pass,
    Hold,
    /// Holds on the connections that were made before this moment.
    HoldSince(Instant),
    Swallow,
}

impl Gate {
    fn holds(self, made: Instant) -> bool {
        match self {
            Self::Hold => true,
            Self::HoldSince(moment) => made < moment,
            Self::Pass | Self::Swallow => false,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    pub(super) to_server: Gate,
    pub(super) to_client: Gate,
    /// Each way.
    pub(super) delay: Duration,
}

/// Bytes that were read at once, and the time when they are due at the other end. An empty chunk is the end of the
/// stream, which is delayed, held and swallowed like data.
struct Chunk {
    due: Instant,
    bytes: Vec<u8>,
}

/// One direction of a connection.
struct Lane {
    rules: watch::Receiver<Rules>,
    gate: fn(&Rules) -> Gate,
    /// When the connection was made.
    made: Instant,
    /// Set once this connection has lost anything.
    lossy: Arc<AtomicBool>,
}

/// Passes bytes on, under the rules, until both directions have ended or one has failed. Everything
/// happens in this future: dropping it closes both sockets.
pub(super) async fn serve(
    mut client: TcpStream,
    target: SocketAddr,
    rules: watch::Receiver<Rules>,
    lossy: Arc<AtomicBool>,
) {
    let Ok(mut server) = TcpStream::connect(target).await else {
        return;
    };
    // Avoid delays by the proxy itself. An error is ignored, because the proxy works without this option.
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let made = Instant::now();
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let requests = Lane {
        rules: rules.clone(),
        gate: |rules| rules.to_server,
        made,
        lossy: Arc::clone(&lossy),
    };
    let answers = Lane {
        rules,
        gate: |rules| rules.to_client,
        made,
        lossy,
    };
    let _ = tokio::try_join!(
        requests.carry(from_client, to_server),
        answers.carry(from_server, to_client),
    );
}

impl Lane {
    async fn carry(mut self, from: ReadHalf<'_>, to: WriteHalf<'_>) -> io::Result<()> {
        let (queue, arriving) = mpsc::channel(IN_FLIGHT);
        let reading = read(from, queue, self.rules.clone());
        let ((), delivered) = tokio::join!(reading, self.deliver(arriving, to));
        delivered
    }

    async fn deliver(
        &mut self,
        mut arriving: mpsc::Receiver<Chunk>,
        mut to: WriteHalf<'_>,
    ) -> io::Result<()> {
        while let Some(chunk) = arriving.recv().await {
            sleep_until(chunk.due).await;
            if self.swallowed().await {
                continue;
            }
            if chunk.bytes.is_empty() {
                return to.shutdown().await;
            }
            to.write_all(&chunk.bytes).await?;
        }
        // The end was swallowed as well: the other side keeps an open, silent connection.
        std::future::pending().await
    }

    /// Waits while the gate is held. Then returns true, and records the loss, if the gate swallows.
    async fn swallowed(&mut self) -> bool {
        // The rules stay locked until the loss is recorded. So a thread that changes them afterwards
        // finds every loss that happened before.
        let Ok(rules) = self
            .rules
            .wait_for(|rules| !(self.gate)(rules).holds(self.made))
            .await
        else {
            // The proxy was dropped; this task is about to be, too.
            return true;
        };
        let swallowed = (self.gate)(&rules) == Gate::Swallow;
        if swallowed {
            self.lossy.store(true, Ordering::SeqCst);
        }
        swallowed
    }
}

/// Reads to the end of the stream. A broken connection is an end, too: what came before it may still be under way.
async fn read(
    mut from: ReadHalf<'_>,
    queue: mpsc::Sender<Chunk>,
    mut rules: watch::Receiver<Rules>,
) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let length = from.read(&mut buffer).await.unwrap_or(0);
        let chunk = Chunk {
            due: Instant::now() + rules.borrow_and_update().delay,
            bytes: buffer[..length].to_vec(),
        };
        if queue.send(chunk).await.is_err() || length == 0 {
            return;
        }
    }
}
