//! TLS by the `redis` crate, with the certificates of the present files. No error shows a file's content.
//!
//! There is no way to switch the verification off.

use std::fmt::Display;
use std::path::Path;
use std::{fs, io};

use ::redis::{Client, ClientTlsConfig, ConnectionInfo, RedisResult, TlsCertificates};
use parking_lot::Mutex;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, Error, RootCertStore};

use crate::env::caught::log;
use crate::model::invalid::Invalid;

use super::options::TlsOptions;

/// The bundle of all public CAs has a quarter of this size.
const LARGEST: u64 = 1 << 20;

/// The files of the connections to a node's servers.
pub(super) struct Tls {
    options: TlsOptions,
    /// The content of the files when it last made sense, and the last logged fault of newer files.
    last: Mutex<(TlsCertificates, String)>,
}

impl Tls {
    /// Reads the files.
    pub(super) fn load(options: TlsOptions) -> Result<Self, Invalid> {
        let last = Mutex::new((certificates(&options)?, String::new()));
        Ok(Self { options, last })
    }

    /// The present files. If they cannot be used, the last usable ones: a certificate that is being
    /// replaced must not take a node away.
    fn present(&self) -> TlsCertificates {
        let read = certificates(&self.options);
        let (last, logged) = &mut *self.last.lock();
        let fault = read.map(|present| *last = present).err();
        let fault = fault.map_or_else(String::new, |fault| fault.to_string());
        if !fault.is_empty() && *logged != fault {
            log!(warn, reason = %fault, "the TLS files could not be loaded; the previous ones stay in use");
        }
        *logged = fault;
        last.clone()
    }
}

/// What the crate has to know to connect with the present files, if there are any.
pub(super) fn with_present_files(
    info: ConnectionInfo,
    tls: Option<&Tls>,
) -> RedisResult<ConnectionInfo> {
    // The crate takes the process's provider of cryptography, and rustls panics if there is none and the features of
    // the build do not single one out. So `ring` is provided, unless the application has chosen.
    if CryptoProvider::get_default().is_none() {
        // It fails if another thread was faster, and then there is a provider too.
        let _ = ring::default_provider().install_default();
    }
    let Some(tls) = tls else {
        return Ok(info);
    };
    let client = Client::build_with_tls(info, tls.present())?;
    Ok(client.get_connection_info().clone())
}

/// The content of all files, which makes sense.
fn certificates(options: &TlsOptions) -> Result<TlsCertificates, Invalid> {
    let client_tls = match (&options.certificate, &options.key) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(identity(certificate, key)?),
        _ => Err(Invalid::new(
            "`tls_cert` is given without `tls_key`, or `tls_key` without `tls_cert`; a certificate and its key go together",
        ))?,
    };
    let authorities = |path| {
        let pem = Pem::read("tls_ca", path)?;
        for certificate in pem.certificates()? {
            let added = RootCertStore::empty().add(certificate);
            added.map_err(|_| pem.wrong("a certificate in it is not valid"))?;
        }
        Ok(pem.bytes)
    };
    Ok(TlsCertificates {
        client_tls,
        root_cert: options.ca.as_deref().map(authorities).transpose()?,
    })
}

fn identity(certificate: &Path, key: &Path) -> Result<ClientTlsConfig, Invalid> {
    let (certificate, key) = (
        Pem::read("tls_cert", certificate)?,
        Pem::read("tls_key", key)?,
    );
    let chain = certificate.certificates()?;
    let private = PrivateKeyDer::from_pem_slice(&key.bytes);
    let private = private.map_err(|_| {
        key.wrong("there is no private key in it; it has to be PEM and not encrypted")
    })?;
    let pair = CertifiedKey::from_der(chain, private, &ring::default_provider());
    pair.map_err(|_| {
        key.wrong(
            "it is not that of the certificate in `tls_cert`, or neither RSA, ECDSA nor Ed25519",
        )
    })?;
    Ok(ClientTlsConfig {
        client_cert: certificate.bytes,
        client_key: key.bytes,
    })
}

/// The file of a setting, and its content.
struct Pem<'a> {
    setting: &'static str,
    path: &'a Path,
    bytes: Vec<u8>,
}

impl<'a> Pem<'a> {
    fn read(setting: &'static str, path: &'a Path) -> Result<Self, Invalid> {
        let shown = path.to_string_lossy();
        if shown.contains(char::is_control) || shown.contains("-----") || shown.contains("://") {
            // The text is not shown: it may be the key, or a URL with a password.
            return Err(Invalid::new(format!(
                "`{setting}` takes the path of a file, not the file's content; write its path"
            )));
        }
        let bytes = Vec::new();
        let pem = Self {
            setting,
            path,
            bytes,
        };
        let about = path.metadata().map_err(|error| pem.wrong(error.kind()))?;
        // Opening a pipe would wait for its other end.
        if !about.is_file() || about.len() > LARGEST {
            return Err(pem.wrong("it is no file of at most 1 MiB"));
        }
        let bytes = fs::read(path).map_err(|error| pem.wrong(error.kind()))?;
        Ok(Self { bytes, ..pem })
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Invalid> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.bytes).collect();
        let found = found.ok().filter(|found| !found.is_empty());
        found.ok_or_else(|| {
            self.wrong("there is no certificate in it, or one that is not PEM, `-----BEGIN CERTIFICATE-----`")
        })
    }

    fn wrong(&self, what: impl Display) -> Invalid {
        let (setting, path) = (self.setting, self.path.display());
        Invalid::new(format!("`{setting}` cannot be used, {path}: {what}"))
    }
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
