//! Makes a TLS connection.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::node::NodeError;
use crate::redis::tls::Tls;

use super::errors::{describe, not_connected};
use super::movable::Movable;

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
    let shaken = TlsConnector::from(config)
        .connect(name, Movable::from(socket))
        .await;
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
