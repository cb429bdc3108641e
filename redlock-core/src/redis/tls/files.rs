//! Reads and checks PEM files. No error shows a file's content.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

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

/// The content of the files, which makes sense.
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
    let pem = content("tls_ca", path)?;
    let mut roots = RootCertStore::empty();
    for certificate in chain("tls_ca", path, &pem)? {
        let added = roots.add(certificate);
        added.map_err(|_| not_valid("tls_ca", path))?;
    }
    Ok(pem)
}

fn identity(certificate: &Path, key: &Path) -> Result<ClientTlsConfig, Invalid> {
    let client_cert = content("tls_cert", certificate)?;
    let client_key = content("tls_key", key)?;
    let chain = chain("tls_cert", certificate, &client_cert)?;
    let no_key = || {
        Invalid::new(format!(
            "there is no private key that can be used in {} (`tls_key`); it has to be PEM, RSA, ECDSA or Ed25519, \
             and not encrypted",
            key.display(),
        ))
    };
    let private = PrivateKeyDer::from_pem_slice(&client_key).map_err(|_| no_key())?;
    match CertifiedKey::from_der(chain, private, &ring::default_provider()) {
        Ok(_) => Ok(ClientTlsConfig {
            client_cert,
            client_key,
        }),
        Err(Error::InconsistentKeys(_)) => Err(Invalid::new(format!(
            "the key in {} (`tls_key`) is not that of the certificate in {} (`tls_cert`)",
            key.display(),
            certificate.display(),
        ))),
        Err(Error::InvalidCertificate(_)) => Err(not_valid("tls_cert", certificate)),
        Err(_) => Err(no_key()),
    }
}

fn content(setting: &str, path: &Path) -> Result<Vec<u8>, Invalid> {
    let shown = path.to_string_lossy();
    if shown.contains(char::is_control) || shown.contains("-----") || shown.contains("://") {
        // The text is not shown: it may be the key, or a URL with a password.
        return Err(Invalid::new(format!(
            "`{setting}` takes the path of a file, not the file's content; write its path"
        )));
    }
    let wrong = |what: &dyn std::fmt::Display| {
        Invalid::new(format!("`{setting}` cannot be read from {shown}: {what}"))
    };
    let failed = |error: io::Error| wrong(&error.kind());
    // Opening a pipe would wait for its other end.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(wrong(&"it is no file"));
    }
    let mut file = File::open(path).map_err(failed)?.take(LARGEST + 1);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(wrong(&"it is larger than 1 MiB"));
    }
    Ok(bytes)
}

fn chain(setting: &str, path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Invalid> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|_| not_valid(setting, path))?;
    if found.is_empty() {
        return Err(Invalid::new(format!(
            "there is no certificate in {} (`{setting}`); it has to be PEM, `-----BEGIN CERTIFICATE-----`",
            path.display(),
        )));
    }
    Ok(found)
}

fn not_valid(setting: &str, path: &Path) -> Invalid {
    Invalid::new(format!(
        "a certificate in {} (`{setting}`) is not valid",
        path.display()
    ))
}
