//! The certificates that TLS connections trust and show, by the present files.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio_rustls::rustls::ClientConfig;

use crate::env::caught::log;
use crate::model::invalid::Invalid;

use super::files::Files;
use super::options::TlsOptions;

/// The TLS settings of the connections to a node's servers.
pub(in crate::redis) struct Tls {
    options: TlsOptions,
    /// `Trust::last` is replaced as a whole: a panic of rustls under the lock leaves it as it was.
    trust: Mutex<Trust>,
}

/// The content of the files.
#[derive(Default)]
struct Trust {
    last: Option<(Files, Arc<ClientConfig>)>,
    /// The last logged fault of newer files.
    logged: String,
}

impl Tls {
    /// Verification by the system's CAs, which are read at the first connection.
    #[allow(clippy::unnecessary_wraps, reason = "as in a build without TLS")]
    pub(in crate::redis) fn system() -> Result<Self, Invalid> {
        Ok(Self::with(TlsOptions::default()))
    }

    /// Reads the files.
    pub(in crate::redis) fn load(options: TlsOptions) -> Result<Self, Invalid> {
        match (&options.certificate, &options.key) {
            (Some(_), None) => Err(Invalid::new(
                "`tls_cert` is given without `tls_key`; a client certificate needs its private key",
            ))?,
            (None, Some(_)) => Err(Invalid::new(
                "`tls_key` is given without `tls_cert`; give the certificate that it is for",
            ))?,
            _ => {}
        }
        let tls = Self::with(options);
        tls.trusted()?;
        Ok(tls)
    }

    fn with(options: TlsOptions) -> Self {
        Self {
            options,
            trust: Mutex::default(),
        }
    }

    /// The present files. If they cannot be used, the last usable ones: a certificate that is being
    /// replaced must not take a node away.
    pub(in crate::redis) fn trusted(&self) -> Result<Arc<ClientConfig>, Invalid> {
        let read = Files::read(&self.options);
        let mut trust = self.trust.lock();
        let built = read.and_then(|files| match &trust.last {
            Some((last, config)) if *last == files => Ok(Arc::clone(config)),
            _ => {
                let config = Arc::new(files.build(&self.options)?);
                trust.last = Some((files, Arc::clone(&config)));
                Ok(config)
            }
        });
        match (built, &trust.last) {
            (Ok(config), _) => {
                trust.logged.clear();
                Ok(config)
            }
            (Err(invalid), Some((_, last))) => {
                let last = Arc::clone(last);
                let reason = invalid.to_string();
                if trust.logged != reason {
                    let kept = "the TLS files could not be loaded; the previous ones stay in use";
                    log!(warn, %reason, "{kept}");
                    trust.logged = reason;
                }
                Ok(last)
            }
            (Err(invalid), None) => Err(invalid),
        }
    }
}

/// Two values with the same options are equal.
impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        self.options == other.options
    }
}

impl Eq for Tls {}
