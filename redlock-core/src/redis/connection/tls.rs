//! Makes a TLS connection, and writes to it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::io::{AsyncWrite as _, WriteHalf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::node::NodeError;
use crate::redis::tls::Tls;

use super::errors::{describe, not_connected};
use super::movable::Movable;
use super::writer::Writer;

/// Makes a TLS connection to the server at `host` over `socket`.
///
/// Dropping the future closes the socket.
pub(super) async fn shake_hands(
    tls: &Arc<Tls>,
    host: &str,
    socket: TcpStream,
) -> Result<TlsStream<Movable>, NodeError> {
    tls.set_unanswered(false);
    let name = tls.name_at(host);
    let name = name.map_err(|invalid| not_connected(invalid.to_string()))?;
    let reader = Arc::clone(tls);
    // A disk may be slow, and all nodes share this thread.
    let trusted = tokio::task::spawn_blocking(move || reader.trusted())
        .await
        .map_err(|_| not_connected("reading the certificates failed"))?;
    let config = trusted.map_err(|invalid| not_connected(invalid.to_string()))?;
    tls.set_unanswered(true);
    let shaken = TlsConnector::from(config).connect(name, Movable::from(socket)).await;
    tls.set_unanswered(false);
    shaken.map_err(|error| {
        not_connected(match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                "the server closed the connection in the TLS handshake; does it speak TLS on \
                 this port?"
                    .to_owned()
            }
            _ => describe(&error),
        })
    })
}

/// The half of a TLS connection to which the driver writes. A caller does not write to it: encrypted
/// bytes that the socket did not take have to be sent later, and a caller does not stay for that. After
/// a panic under the mutex the driver gives the connection up.
pub(super) struct TlsWriter(Mutex<WriteHalf<TlsStream<Movable>>>);

impl TlsWriter {
    pub(super) fn new(half: WriteHalf<TlsStream<Movable>>) -> Self {
        Self(Mutex::new(half))
    }
}

impl Writer for TlsWriter {
    fn try_write(&self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.lock()).poll_write(context, bytes)
    }

    fn poll_flush(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_flush(context)
    }
}
