//! TLS by rustls, with the certificates of the present files. No error shows a file's content.
//!
//! Certificates are parsed once, on the library's threads: the system's hundreds take milliseconds, in which the
//! application's timers would stand still. There is no way to switch the verification off.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ::redis::{Client, ConnectionInfo};
use parking_lot::Mutex;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{AlertDescription, ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::env::io_thread::IoThread;
use crate::model::invalid::Invalid;

use super::options::TlsOptions;
use super::secret_file::{read, unusable};

/// The CAs of the system, once some of them could be read.
static SYSTEM: Mutex<Option<Arc<RootCertStore>>> = Mutex::new(None);

/// The TLS of a pool. Clones of an address share it.
#[derive(Default)]
pub(super) struct Tls {
    options: TlsOptions,
    last: Mutex<Option<(Files, Arc<ClientConfig>)>>,
}

/// The content of the user's own files.
#[derive(PartialEq, Eq)]
struct Files {
    ca: Option<Vec<u8>>,
    /// A certificate and its key.
    client: Option<(Vec<u8>, Vec<u8>)>,
}

impl Tls {
    pub(super) fn new(options: TlsOptions) -> Self {
        Self {
            options,
            last: Mutex::default(),
        }
    }

    /// Opens TLS to the server `host` over `socket`.
    pub(super) async fn connect(
        self: Arc<Self>,
        host: &str,
        socket: TcpStream,
        io: &IoThread,
    ) -> io::Result<TlsStream<TcpStream>> {
        let config = io.handle().spawn_blocking(move || self.config()).await?;
        let config = config.map_err(io::Error::other)?;
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        TlsConnector::from(config).connect(name, socket).await
    }

    /// Reads the user's files again, so that faults in them are known before the first connection.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let files = self.files()?;
        if files.ca.is_some() {
            self.config().map(drop)
        } else {
            files.client_auth().map(drop)
        }
    }

    /// Returns what rustls has to know, by the files as they are now.
    fn config(&self) -> Result<Arc<ClientConfig>, Invalid> {
        let files = self.files()?;
        let mut last = self.last.lock();
        if let Some((of, config)) = &*last
            && *of == files
        {
            return Ok(Arc::clone(config));
        }
        let provider = CryptoProvider::get_default().cloned();
        let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
        let config = ClientConfig::builder_with_provider(provider);
        let config = config
            .with_safe_default_protocol_versions()
            .map_err(|error| {
                Invalid::new(format!(
                    "the process's cryptography cannot be used: {error}"
                ))
            })?;
        let config = config.with_root_certificates(files.roots()?);
        let config = match files.client_auth()? {
            Some((certificates, key)) => config
                .with_client_auth_cert(certificates, key)
                .map_err(|error| unusable("tls_key", error))?,
            None => config.with_no_client_auth(),
        };
        let config = Arc::new(config);
        *last = Some((files, Arc::clone(&config)));
        Ok(config)
    }

    fn files(&self) -> Result<Files, Invalid> {
        let TlsOptions {
            ca,
            certificate,
            key,
        } = &self.options;
        let client = match (certificate, key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => {
                Some((read("tls_cert", certificate)?, read("tls_key", key)?))
            }
            _ => Err(Invalid::new(
                "`tls_cert` is given without `tls_key`, or `tls_key` without `tls_cert`; a certificate and its key go together",
            ))?,
        };
        let ca = ca.as_deref().map(|path: &Path| read("tls_ca", path));
        Ok(Files {
            ca: ca.transpose()?,
            client,
        })
    }
}

impl Files {
    fn roots(&self) -> Result<Arc<RootCertStore>, Invalid> {
        let Some(pem) = &self.ca else {
            return system();
        };
        let mut roots = RootCertStore::empty();
        for certificate in certificates("tls_ca", pem)? {
            let added = roots.add(certificate);
            added.map_err(|error| unusable("tls_ca", error))?;
        }
        Ok(Arc::new(roots))
    }

    /// Returns the certificates that a client shows, and their key.
    fn client_auth(
        &self,
    ) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>, Invalid> {
        let Some((certificate, key)) = &self.client else {
            return Ok(None);
        };
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| unusable("tls_key", "there is no private key in it, as PEM"))?;
        Ok(Some((certificates("tls_cert", certificate)?, key)))
    }
}

/// Returns the CAs of the system. A certificate that makes no sense takes none of the others away.
fn system() -> Result<Arc<RootCertStore>, Invalid> {
    let mut system = SYSTEM.lock();
    if let Some(roots) = &*system {
        return Ok(Arc::clone(roots));
    }
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map(|error| format!(": {error}"));
        return Err(Invalid::new(format!(
            "the system has no CA certificates that can be used{}; install them, or name a file by `tls_ca`",
            why.unwrap_or_default()
        )));
    }
    let roots = Arc::new(roots);
    *system = Some(Arc::clone(&roots));
    Ok(roots)
}

/// Parses the certificates of a file. rustls takes one without any as well.
fn certificates(setting: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Invalid> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(unusable(setting, "there is no certificate in it, as PEM")),
    }
}

/// True if one side did not take the certificate of the other. That is as final as a wrong password.
pub(super) fn is_about_certificates(error: &io::Error) -> bool {
    use AlertDescription as Alert;
    let inner = error.get_ref().and_then(|it| it.downcast_ref());
    matches!(
        inner,
        Some(
            rustls::Error::InvalidCertificate(_)
                | rustls::Error::AlertReceived(
                    Alert::BadCertificate
                        | Alert::UnsupportedCertificate
                        | Alert::CertificateRevoked
                        | Alert::CertificateExpired
                        | Alert::CertificateUnknown
                        | Alert::CertificateRequired
                        | Alert::UnknownCA
                        | Alert::AccessDenied,
                ),
        )
    )
}

/// Makes the client of a user's own connection over TLS. The crate takes the process's provider of cryptography, and
/// rustls panics if there is none, so `ring` is provided unless the application has chosen.
pub(super) fn client(info: ConnectionInfo) -> ::redis::RedisResult<Client> {
    if CryptoProvider::get_default().is_none() {
        // An error means that another thread was faster, and then there is a provider too.
        let _ = ring::default_provider().install_default();
    }
    Client::open(info)
}
