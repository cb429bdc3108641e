//! TLS by rustls, with certificates from files that are read at each connection. Errors never show a file's content.
//!
//! Files are read and certificates parsed on the library's threads. The system has hundreds of certificates, and
//! parsing them would stop the application's timers for milliseconds. Verification cannot be switched off.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ::redis::{Client, ConnectionInfo, RedisResult};
use parking_lot::Mutex;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{AlertDescription as Alert, ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::io_thread::IoThread;
use crate::model::invalid::Invalid;

use super::options::TlsOptions;
use super::secret_file::{read, unusable};

/// The CAs of the system. Stored once some of them could be read.
static SYSTEM: Mutex<Option<Arc<RootCertStore>>> = Mutex::new(None);

/// Opens a TLS connection to the server `host` over `socket`.
pub(super) async fn connect(
    options: Arc<TlsOptions>,
    host: &str,
    socket: TcpStream,
    io: &IoThread,
) -> io::Result<TlsStream<TcpStream>> {
    let config = io.handle().spawn_blocking(move || config(&options)).await?;
    let config = config.map_err(io::Error::other)?;
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    TlsConnector::from(config).connect(name, socket).await
}

/// Builds the configuration of rustls from the current content of the files.
pub(super) fn config(options: &TlsOptions) -> Result<Arc<ClientConfig>, Invalid> {
    let roots = match &options.ca {
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates("tls_ca", path)? {
                let added = roots.add(certificate);
                added.map_err(|error| unusable("tls_ca", error))?;
            }
            Arc::new(roots)
        }
        None => system()?,
    };
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let unusable_provider = |error| {
        Invalid::new(format!(
            "the process's default cryptography does not work for TLS: {error}"
        ))
    };
    let config = config
        .map_err(unusable_provider)?
        .with_root_certificates(roots);
    let config = match (&options.certificate, &options.key) {
        (None, None) => config.with_no_client_auth(),
        (Some(certificate), Some(key)) => {
            let key = PrivateKeyDer::from_pem_slice(&read("tls_key", key)?)
                .map_err(|_| unusable("tls_key", "it has no private key in PEM format"))?;
            let shown = certificates("tls_cert", certificate)?;
            let config = config.with_client_auth_cert(shown, key);
            config.map_err(|error| unusable("tls_key", error))?
        }
        _ => Err(Invalid::new(
            "`tls_cert` is given without `tls_key`, or `tls_key` without `tls_cert`; a certificate and its key go together",
        ))?,
    };
    Ok(Arc::new(config))
}

/// Returns the CAs of the system. Certificates that cannot be parsed are skipped.
fn system() -> Result<Arc<RootCertStore>, Invalid> {
    let mut system = SYSTEM.lock();
    if let Some(roots) = &*system {
        return Ok(Arc::clone(roots));
    }
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(Invalid::new(format!(
            "the system has no CA certificates that can be used {:?}; install them, or name a file by `tls_ca`",
            found.errors
        )));
    }
    Ok(Arc::clone(system.insert(Arc::new(roots))))
}

/// Returns the certificates of a file. Fails if there are none, because rustls would accept an empty list.
fn certificates(setting: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, Invalid> {
    let pem = read(setting, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let found = found.ok().filter(|found| !found.is_empty());
    found.ok_or_else(|| unusable(setting, "it has no certificate in PEM format"))
}

/// True if one side rejected the other's certificate. Retrying fails too, as with a wrong password.
pub(super) fn is_about_certificates(error: &io::Error) -> bool {
    let error = error.get_ref().and_then(|it| it.downcast_ref());
    match error {
        Some(rustls::Error::InvalidCertificate(_)) => true,
        Some(rustls::Error::AlertReceived(alert)) => matches!(
            alert,
            Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::CertificateRequired
                | Alert::UnknownCA
                | Alert::AccessDenied
        ),
        _ => false,
    }
}

/// Opens a client of the `redis` crate. For TLS, the crate uses the process's default cryptography, and rustls panics
/// if there is none. So `ring` is installed unless the application has chosen its own.
pub(super) fn client(info: ConnectionInfo) -> RedisResult<Client> {
    if CryptoProvider::get_default().is_none() {
        // An error means that another thread has installed a provider at the same moment.
        let _ = ring::default_provider().install_default();
    }
    Client::open(info)
}
