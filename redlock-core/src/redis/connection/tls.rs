//! Makes a TLS connection.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{CertificateError, Error};

use crate::node::NodeError;
use crate::redis::tls::Tls;

use super::errors::{broken, not_connected};
use super::movable::Movable;

/// Makes a TLS connection to the server at `host` over `socket`.
///
/// Dropping the future closes the socket.
pub(super) async fn shake_hands(
    tls: &Arc<Tls>,
    host: &str,
    socket: TcpStream,
) -> Result<TlsStream<Movable>, NodeError> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| not_connected("no certificate can be for this host name"))?;
    let options = Arc::clone(tls);
    // A disk may be slow, and all nodes share this thread.
    let trusted = tokio::task::spawn_blocking(move || options.trusted())
        .await
        .map_err(|_| not_connected("reading the certificates failed"))?;
    let config = trusted.map_err(|invalid| not_connected(invalid.to_string()))?;
    let shaken = TlsConnector::from(config).connect(name, Movable::from(socket));
    shaken.await.map_err(|error| broken(&error))
}

/// `None` if the error is not one of TLS. The text has no time: the log omits a line that is the same as the last one.
pub(super) fn tls_error(error: &io::Error) -> Option<String> {
    let reason = match error.get_ref()?.downcast_ref::<Error>()? {
        Error::InvalidCertificate(CertificateError::ExpiredContext { .. }) => {
            "invalid peer certificate: it has expired".to_owned()
        }
        Error::InvalidCertificate(CertificateError::NotValidYetContext { .. }) => {
            "invalid peer certificate: it is not valid yet".to_owned()
        }
        error => error.to_string(),
    };
    Some(format!("the TLS connection failed: {reason}"))
}
