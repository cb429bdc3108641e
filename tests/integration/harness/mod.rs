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

/// All that a test waits for "nothing comes". Nothing may depend on what did happen meanwhile.
const SHORT: Duration = Duration::from_millis(200);
/// For what must come, on a busy machine too.
const LONG: Duration = Duration::from_secs(20);
/// For what must not end during a test.
const HOUR: Duration = Duration::from_secs(3600);

async fn refused(addr: SocketAddr) -> bool {
    let error = TcpStream::connect(addr).await.err();
    error.is_some_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}
