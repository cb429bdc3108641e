//! The certificates that TLS connections trust and show, by the present files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::env::caught::log;
use crate::model::invalid::Invalid;

use super::files::Files;
use super::options::TlsOptions;

/// The TLS settings of the connections to a node's servers.
pub(in crate::redis) struct Tls {
    options: TlsOptions,
    /// `Trust::last` is replaced as a whole: a panic of rustls under the lock leaves it as it was.
    trust: Mutex<Trust>,
    /// True if a handshake began and did not end: the server may not support TLS, and wait for more.
    is_unanswered: AtomicBool,
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
        if let Some(name) = &options.server_name {
            check_name(name)?;
        }
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
            is_unanswered: AtomicBool::new(false),
        }
    }

    /// True if the last handshake got no answer.
    pub(in crate::redis) fn is_unanswered(&self) -> bool {
        self.is_unanswered.load(Ordering::Relaxed)
    }

    /// See [`is_unanswered`](Self::is_unanswered).
    pub(in crate::redis) fn set_unanswered(&self, is_unanswered: bool) {
        self.is_unanswered.store(is_unanswered, Ordering::Relaxed);
    }

    /// The name that the certificate of a server at `host` needs.
    pub(in crate::redis) fn name_at(&self, host: &str) -> Result<ServerName<'static>, Invalid> {
        check_name(self.options.server_name.as_deref().unwrap_or(host))
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

fn check_name(name: &str) -> Result<ServerName<'static>, Invalid> {
    ServerName::try_from(name.to_owned()).map_err(|_| {
        // The text is not shown: it may be a URL in the wrong place.
        Invalid::new(
            "`tls_server_name`, or the host, is no name that a certificate can be for; give a host \
             name or an IP address",
        )
    })
}
