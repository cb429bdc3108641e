//! Reads PEM files for rustls. No error shows a file's content.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore, crypto::ring};

use crate::model::invalid::Invalid;

use super::options::TlsOptions;

/// The bundle of all public CAs has a quarter of this size.
const LARGEST: u64 = 1 << 20;

/// The content of the files.
#[derive(PartialEq, Eq)]
pub(super) struct Files {
    ca: Option<Vec<u8>>,
    certificate: Option<Vec<u8>>,
    key: Option<Vec<u8>>,
}

impl Files {
    pub(super) fn read(options: &TlsOptions) -> Result<Self, Invalid> {
        let read = |setting, path: &Option<PathBuf>| {
            let path = path.as_deref();
            path.map(|path| read(setting, path)).transpose()
        };
        Ok(Self {
            ca: read("tls_ca", &options.ca)?,
            certificate: read("tls_cert", &options.certificate)?,
            key: read("tls_key", &options.key)?,
        })
    }

    pub(super) fn build(&self, options: &TlsOptions) -> Result<ClientConfig, Invalid> {
        let roots = match (&options.ca, &self.ca) {
            (Some(path), Some(pem)) => roots_of("tls_ca", path, pem)?,
            _ => roots_of_the_system()?,
        };
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Invalid::new(format!("TLS cannot be used: {error}")))?
            .with_root_certificates(roots);
        // Early data stays off, which is the default: it can be replayed, and a `SET` must not be.
        let (Some(certificate), Some(key)) = (&options.certificate, &options.key) else {
            return Ok(builder.with_no_client_auth());
        };
        let pem = self.certificate.as_deref().unwrap_or_default();
        let chain = certificates("tls_cert", certificate, pem)?;
        let private = PrivateKeyDer::from_pem_slice(self.key.as_deref().unwrap_or_default());
        let private = private.map_err(|_| no_key(key))?;
        builder
            .with_client_auth_cert(chain, private)
            .map_err(|error| match error {
                Error::InconsistentKeys(_) => Invalid::new(format!(
                    "the key in {} (`tls_key`) is not that of the certificate in {} (`tls_cert`)",
                    key.display(),
                    certificate.display(),
                )),
                Error::InvalidCertificate(_) => not_read("tls_cert", certificate),
                _ => no_key(key),
            })
    }
}

fn read(setting: &str, path: &Path) -> Result<Vec<u8>, Invalid> {
    let shown = path.to_string_lossy();
    if shown.contains(char::is_control) || shown.contains("-----") || shown.contains("://") {
        // The text is not shown: it may be the key, or a URL with a password.
        return Err(Invalid::new(format!(
            "`{setting}` takes the path of a file, not the file's content; write its path"
        )));
    }
    let wrong = |what: String| {
        Invalid::new(format!(
            "`{setting}` cannot be read from {}: {what}",
            path.display()
        ))
    };
    let failed = |error: std::io::Error| wrong(error.kind().to_string());
    // Opening a pipe would wait for its other end.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(wrong("it is no file".into()));
    }
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(wrong("it is larger than 1 MiB".into()));
    }
    Ok(bytes)
}

fn certificates(
    setting: &str,
    path: &Path,
    pem: &[u8],
) -> Result<Vec<CertificateDer<'static>>, Invalid> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|_| not_read(setting, path))?;
    if found.is_empty() {
        return Err(Invalid::new(format!(
            "there is no certificate in {} (`{setting}`); it has to be PEM, `-----BEGIN \
             CERTIFICATE-----`",
            path.display(),
        )));
    }
    Ok(found)
}

fn roots_of(setting: &str, path: &Path, pem: &[u8]) -> Result<RootCertStore, Invalid> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(setting, path, pem)? {
        roots
            .add(certificate)
            .map_err(|_| not_read(setting, path))?;
    }
    Ok(roots)
}

fn roots_of_the_system() -> Result<RootCertStore, Invalid> {
    let mut roots = RootCertStore::empty();
    // Many systems have a few CAs that cannot be parsed.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(Invalid::new(
            "this system has no CA certificates to verify a TLS server with; install them \
             (`ca-certificates`), or give the CA's as `tls_ca`",
        ));
    }
    Ok(roots)
}

fn not_read(setting: &str, path: &Path) -> Invalid {
    Invalid::new(format!(
        "a certificate in {} (`{setting}`) is not valid",
        path.display()
    ))
}

fn no_key(path: &Path) -> Invalid {
    Invalid::new(format!(
        "there is no private key that can be used in {} (`tls_key`); it has to be PEM, RSA, ECDSA \
         or Ed25519, and not encrypted",
        path.display(),
    ))
}
