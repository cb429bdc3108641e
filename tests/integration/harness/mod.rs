//! Tests of the harness itself: a fault that does not happen would let every other test pass.

#[cfg(target_os = "linux")]
mod clock;
mod nodes;
#[cfg(target_os = "linux")]
mod processes;
mod proxy;
mod services;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;

/// More than a loopback round trip ever takes, and all that a test waits for "nothing comes".
const SHORT: Duration = Duration::from_millis(200);
/// For what must come.
const LONG: Duration = Duration::from_secs(10);

async fn refused(addr: SocketAddr) -> bool {
    let error = TcpStream::connect(addr).await.err();
    error.is_some_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}
