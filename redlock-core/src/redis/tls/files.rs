//! Reads and checks PEM files. No error shows a file's content.

use std::fmt::Display;
use std::path::Path;
use std::{fs, io};

use ::redis::{ClientTlsConfig, TlsCertificates};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error, RootCertStore};

use crate::model::invalid::Invalid;

use super::TlsOptions;

/// The bundle of all public CAs has a quarter of this size.
const LARGEST: u64 = 1 << 20;

const NOT_VALID: &str = "a certificate in it is not valid";
const NO_KEY: &str = "there is no private key in it that can be used; it has to be PEM, RSA, ECDSA or Ed25519, and not \
                      encrypted";

/// The file of a setting, and its content.
struct Pem<'a> {
    setting: &'static str,
    path: &'a Path,
    bytes: Vec<u8>,
}

/// The content of all files, which makes sense.
pub(super) fn certificates(options: &TlsOptions) -> Result<TlsCertificates, Invalid> {
    let client_tls = match (&options.certificate, &options.key) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(identity(certificate, key)?),
        (Some(_), None) => Err(Invalid::new(
            "`tls_cert` is given without `tls_key`; a client certificate needs its private key",
        ))?,
        (None, Some(_)) => Err(Invalid::new(
            "`tls_key` is given without `tls_cert`; give the certificate that it is for",
        ))?,
    };
    let root_cert = options.ca.as_deref().map(authorities).transpose()?;
    Ok(TlsCertificates {
        client_tls,
        root_cert,
    })
}

fn authorities(path: &Path) -> Result<Vec<u8>, Invalid> {
    let pem = Pem::read("tls_ca", path)?;
    let mut roots = RootCertStore::empty();
    for certificate in pem.certificates()? {
        let added = roots.add(certificate);
        added.map_err(|_| pem.wrong(NOT_VALID))?;
    }
    Ok(pem.bytes)
}

fn identity(certificate: &Path, key: &Path) -> Result<ClientTlsConfig, Invalid> {
    let (certificate, key) = (
        Pem::read("tls_cert", certificate)?,
        Pem::read("tls_key", key)?,
    );
    let chain = certificate.certificates()?;
    let private = PrivateKeyDer::from_pem_slice(&key.bytes).map_err(|_| key.wrong(NO_KEY))?;
    match CertifiedKey::from_der(chain, private, &ring::default_provider()) {
        Ok(_) => Ok(ClientTlsConfig {
            client_cert: certificate.bytes,
            client_key: key.bytes,
        }),
        Err(Error::InconsistentKeys(_)) => {
            Err(key.wrong("its key is not that of the certificate in `tls_cert`"))
        }
        Err(Error::InvalidCertificate(_)) => Err(certificate.wrong(NOT_VALID)),
        Err(_) => Err(key.wrong(NO_KEY)),
    }
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
        let mut pem = Self {
            setting,
            path,
            bytes,
        };
        let failed = |error: io::Error| pem.wrong(error.kind());
        let about = path.metadata().map_err(failed)?;
        // Opening a pipe would wait for its other end.
        if !about.is_file() {
            return Err(pem.wrong("it is no file"));
        }
        if about.len() > LARGEST {
            return Err(pem.wrong("it is larger than 1 MiB"));
        }
        pem.bytes = fs::read(path).map_err(failed)?;
        Ok(pem)
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Invalid> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.bytes).collect();
        let found = found.map_err(|_| self.wrong(NOT_VALID))?;
        if found.is_empty() {
            let missing =
                "there is no certificate in it; it has to be PEM, `-----BEGIN CERTIFICATE-----`";
            return Err(self.wrong(missing));
        }
        Ok(found)
    }

    fn wrong(&self, what: impl Display) -> Invalid {
        let Self { setting, path, .. } = self;
        Invalid::new(format!(
            "`{setting}` cannot be used, {}: {what}",
            path.display()
        ))
    }
}
