//! TLS: whom a connection trusts, what it shows, and what is wrong where there is none.
//!
//! There is no way to switch the verification off.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod explain;
#[cfg(feature = "tls")]
mod files;
#[cfg(feature = "tls")]
mod secure;

use std::fmt;
use std::path::PathBuf;

#[cfg(not(feature = "tls"))]
pub(in crate::redis) use absent::Tls;
#[cfg(feature = "tls")]
pub(super) use explain::explain;
#[cfg(feature = "tls")]
pub(in crate::redis) use secure::{Tls, TlsWriter};

/// Whom a TLS connection trusts, and what it shows. The default trusts the CAs of the system, and
/// shows nothing.
///
/// The files are PEM. They are read again at each connection, so a certificate that was replaced
/// counts from the next one on; where the new files make no sense, the ones before stay in use, and
/// a warning is logged.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// The CAs that may have issued the server's certificate, in the place of the system's.
    pub ca: Option<PathBuf>,
    /// The client's certificate, and behind it those of the CAs between it and what the server
    /// trusts.
    pub certificate: Option<PathBuf>,
    /// The private key of [`certificate`](Self::certificate), not encrypted.
    pub key: Option<PathBuf>,
    /// The name that the server's certificate is for, where the URL has another.
    pub server_name: Option<String>,
}

/// Which of them are given, and not what: it may be a key that somebody took for its file's name.
impl fmt::Debug for TlsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsOptions")
            .field("ca", &self.ca.is_some())
            .field("certificate", &self.certificate.is_some())
            .field("key", &self.key.is_some())
            .field("server_name", &self.server_name.is_some())
            .finish()
    }
}
