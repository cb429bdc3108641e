//! The options of a TLS connection.

use std::fmt;
use std::path::PathBuf;

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

/// Shows which options are given and not their values: a value may be a key in place of the name of
/// its file.
impl fmt::Debug for TlsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsOptions")
            .field("ca", &self.ca.is_some())
            .field("certificate", &self.certificate.is_some())
            .field("key", &self.key.is_some())
            .finish()
    }
}
