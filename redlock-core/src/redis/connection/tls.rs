//! Makes a TLS connection to a server of a Cluster.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

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
    let config = config(&options).ok_or_else(|| not_connected("TLS cannot be used"))?;
    let shaken = TlsConnector::from(Arc::new(config)).connect(name, Movable::from(socket));
    shaken.await.map_err(|error| broken(&error))
}

fn config(tls: &Tls) -> Option<ClientConfig> {
    let present = tls.present();
    let mut roots = RootCertStore::empty();
    match &present.root_cert {
        Some(pem) => {
            let found = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok);
            roots.add_parsable_certificates(found);
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .ok()?
        .with_root_certificates(roots);
    let Some(client) = present.client_tls else {
        return Some(builder.with_no_client_auth());
    };
    let chain = CertificateDer::pem_slice_iter(&client.client_cert).filter_map(Result::ok);
    let key = PrivateKeyDer::from_pem_slice(&client.client_key).ok()?;
    builder.with_client_auth_cert(chain.collect(), key).ok()
}
