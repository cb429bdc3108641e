//! TLS by the `redis` crate: the certificates that a connection trusts and shows.
//!
//! There is no way to switch the verification off.

#[cfg_attr(feature = "tls", path = "present.rs")]
#[cfg_attr(not(feature = "tls"), path = "absent.rs")]
mod by_feature;
#[cfg(feature = "tls")]
mod files;

use std::fmt;
use std::path::PathBuf;

pub(super) use by_feature::{Tls, provide_cryptography, tls_error};

/// The CAs that a TLS connection trusts, and the certificate that it shows. The default trusts the CAs
/// of the system, and shows none.
///
/// The files are PEM. They are read again at each connection, so a certificate that was replaced
/// counts from the next connection on. If the new files make no sense, the ones before stay in use,
/// and a warning is logged.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// The CAs that may have issued the server's certificate, in place of the system's.
    pub ca: Option<PathBuf>,
    /// The client's certificate, and behind it those of the CAs between it and the CA that the
    /// server trusts.
    pub certificate: Option<PathBuf>,
    /// The private key of [`certificate`](Self::certificate), not encrypted.
    pub key: Option<PathBuf>,
}

/// Shows no value: it may be a key in place of the name of its file.
impl fmt::Debug for TlsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsOptions").finish_non_exhaustive()
    }
}
