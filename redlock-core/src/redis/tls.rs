//! TLS by the `redis` crate, with the certificates of the present files. No error shows a file's content.
//!
//! There is no way to switch the verification off.

use std::path::Path;

use ::redis::{Client, ClientTlsConfig, ConnectionInfo, TlsCertificates};
use rustls::crypto::{CryptoProvider, ring};

use crate::model::invalid::Invalid;

use super::options::TlsOptions;
use super::secret_file::{read, unusable};

/// What the crate has to know to connect over TLS, with the files as they are now.
pub(super) fn with_certificates(
    info: ConnectionInfo,
    files: Option<&TlsOptions>,
) -> Result<ConnectionInfo, Invalid> {
    // The crate takes the process's provider of cryptography, and rustls panics if there is none and the features of the
    // build do not single one out. So `ring` is provided, unless the application has chosen.
    if CryptoProvider::get_default().is_none() {
        // It fails if another thread was faster, and then there is a provider too.
        let _ = ring::default_provider().install_default();
    }
    let Some(files) = files else {
        return Ok(info);
    };
    let client_tls = match (&files.certificate, &files.key) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(ClientTlsConfig {
            client_cert: certificates("tls_cert", certificate)?,
            client_key: read("tls_key", key)?,
        }),
        _ => Err(Invalid::new(
            "`tls_cert` is given without `tls_key`, or `tls_key` without `tls_cert`; a certificate and its key go together",
        ))?,
    };
    let root_cert = files.ca.as_deref().map(|path| certificates("tls_ca", path));
    let files = TlsCertificates {
        client_tls,
        root_cert: root_cert.transpose()?,
    };
    let client = Client::build_with_tls(info, files);
    let client = client.map_err(|error| {
        Invalid::new(format!(
            "`tls_ca`, `tls_cert` or `tls_key` cannot be used: {error}"
        ))
    })?;
    Ok(client.get_connection_info().clone())
}

/// The content of the file. The crate takes one without a certificate as well.
fn certificates(setting: &str, path: &Path) -> Result<Vec<u8>, Invalid> {
    const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
    let pem = read(setting, path)?;
    if pem.windows(BEGIN.len()).any(|it| it == BEGIN) {
        return Ok(pem);
    }
    Err(unusable(setting, "there is no certificate in it, as PEM"))
}
