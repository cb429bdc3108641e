//! TLS by the `redis` crate, with the certificates of the present files. No error shows a file's content.
//!
//! There is no way to switch the verification off.

use std::io;
use std::path::Path;

use ::redis::{ClientTlsConfig, TlsCertificates};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, Error, RootCertStore};

use crate::model::invalid::Invalid;

use super::options::TlsOptions;
use super::secret_file::{read, unusable};

/// The crate takes the process's provider of cryptography, and rustls panics if there is none and the features of the
/// build do not single one out. So `ring` is provided, unless the application has chosen.
pub(super) fn provide_cryptography() {
    if CryptoProvider::get_default().is_none() {
        // It fails if another thread was faster, and then there is a provider too.
        let _ = ring::default_provider().install_default();
    }
}

/// The content of all files, which makes sense.
pub(super) fn certificates(options: &TlsOptions) -> Result<TlsCertificates, Invalid> {
    let client_tls = match (&options.certificate, &options.key) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(identity(certificate, key)?),
        _ => Err(Invalid::new(
            "`tls_cert` is given without `tls_key`, or `tls_key` without `tls_cert`; a certificate and its key go together",
        ))?,
    };
    let authorities = |path| {
        let (pem, certificates) = chain("tls_ca", path)?;
        for certificate in certificates {
            let added = RootCertStore::empty().add(certificate);
            added.map_err(|_| unusable("tls_ca", path, "a certificate in it is not valid"))?;
        }
        Ok(pem)
    };
    Ok(TlsCertificates {
        client_tls,
        root_cert: options.ca.as_deref().map(authorities).transpose()?,
    })
}

fn identity(certificate: &Path, key: &Path) -> Result<ClientTlsConfig, Invalid> {
    let (client_cert, chain) = chain("tls_cert", certificate)?;
    let client_key = read("tls_key", key)?;
    let private = PrivateKeyDer::from_pem_slice(&client_key).ok();
    let pair = private
        .and_then(|private| CertifiedKey::from_der(chain, private, &ring::default_provider()).ok());
    pair.ok_or_else(|| {
        let what = "there is no private key of the certificate in `tls_cert` in it, \
                    RSA, ECDSA or Ed25519, as PEM and not encrypted";
        unusable("tls_key", key, what)
    })?;
    Ok(ClientTlsConfig {
        client_cert,
        client_key,
    })
}

/// The content of the file, and the certificates in it.
fn chain(setting: &str, path: &Path) -> Result<(Vec<u8>, Vec<CertificateDer<'static>>), Invalid> {
    let pem = read(setting, path)?;
    match CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>() {
        Ok(certificates) if !certificates.is_empty() => Ok((pem, certificates)),
        _ => Err(unusable(
            setting,
            path,
            "there is no certificate in it, or one that is not PEM, `-----BEGIN CERTIFICATE-----`",
        )),
    }
}

/// `None` if the error is not one of TLS. The text has no time: the log omits a line that is the same as the last one.
pub(super) fn tls_error(error: &io::Error) -> Option<String> {
    use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    let timeless = match error.get_ref()?.downcast_ref::<Error>()? {
        Error::InvalidCertificate(ExpiredContext { .. }) => &Error::InvalidCertificate(Expired),
        Error::InvalidCertificate(NotValidYetContext { .. }) => {
            &Error::InvalidCertificate(NotValidYet)
        }
        error => error,
    };
    Some(format!("the TLS connection failed: {timeless}"))
}
