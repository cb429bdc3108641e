//! Making a TLS connection, and writing to it.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncWrite as _, WriteHalf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::env::caught::log;
use crate::model::invalid::Invalid;
use crate::node::NodeError;
use crate::redis::connection::errors::{describe, not_connected};
use crate::redis::connection::socket::Writer;

use super::TlsOptions;
use super::files::Files;

/// How the connections to a node's servers are made.
pub(in crate::redis) struct Tls {
    options: TlsOptions,
    trust: Mutex<Trust>,
    /// A handshake began and came to no end: the server may not speak TLS, and wait for more.
    is_unanswered: AtomicBool,
}

/// What the files say.
#[derive(Default)]
struct Trust {
    last: Option<(Files, Arc<ClientConfig>)>,
    /// What was wrong with the files that came after that, as the log had it last.
    logged: String,
}

impl Tls {
    /// Verified against the system's CAs, which are read at the first connection.
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

    /// Whether the last handshake got no answer.
    pub(in crate::redis) fn is_unanswered(&self) -> bool {
        self.is_unanswered.load(Ordering::Relaxed)
    }

    /// Dropping the future closes the socket.
    pub(in crate::redis) async fn shake_hands(
        self: &Arc<Self>,
        host: &str,
        socket: TcpStream,
    ) -> Result<TlsStream<TcpStream>, NodeError> {
        self.is_unanswered.store(false, Ordering::Relaxed);
        let name = self.options.server_name.as_deref().unwrap_or(host);
        let name = check_name(name).map_err(|invalid| not_connected(invalid.to_string()))?;
        let tls = Arc::clone(self);
        // A disk may be slow, and all nodes share this thread.
        let trusted = tokio::task::spawn_blocking(move || tls.trusted())
            .await
            .map_err(|_| not_connected("reading the certificates failed"))?;
        let config = trusted.map_err(|invalid| not_connected(invalid.to_string()))?;
        self.is_unanswered.store(true, Ordering::Relaxed);
        let shaken = TlsConnector::from(config).connect(name, socket).await;
        self.is_unanswered.store(false, Ordering::Relaxed);
        shaken.map_err(|error| {
            not_connected(match error.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                    "the server closed the connection in the TLS handshake; does it speak TLS on \
                     this port?"
                        .to_owned()
                }
                _ => describe(&error),
            })
        })
    }

    /// The files as they are now. Where they cannot be used any more, as they were: a certificate
    /// that is just being replaced must not take a node away.
    fn trusted(&self) -> Result<Arc<ClientConfig>, Invalid> {
        let read = Files::read(&self.options);
        let mut trust = lock(&self.trust);
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
                    log!(warn, %reason, "the TLS files as they were before stay in use");
                    trust.logged = reason;
                }
                Ok(last)
            }
            (Err(invalid), None) => Err(invalid),
        }
    }
}

/// Those that are made alike are the same.
impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        self.options == other.options
    }
}

impl Eq for Tls {}

fn check_name(name: &str) -> Result<ServerName<'static>, Invalid> {
    ServerName::try_from(name.to_owned()).map_err(|_| {
        // Not shown: it may be a URL in the wrong place.
        Invalid::new(
            "`tls_server_name`, or the host, is no name that a certificate can be for; give a host \
             name or an IP address",
        )
    })
}

/// The half that the driver writes to. Callers do not: what was encrypted and the socket did not
/// take has to be looked after, and a call has nobody who would.
pub(in crate::redis) struct TlsWriter(Mutex<WriteHalf<TlsStream<TcpStream>>>);

impl TlsWriter {
    pub(in crate::redis) fn new(half: WriteHalf<TlsStream<TcpStream>>) -> Self {
        Self(Mutex::new(half))
    }
}

impl Writer for TlsWriter {
    fn try_write(&self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *lock(&self.0)).poll_write(context, bytes)
    }

    fn poll_flush(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *lock(&self.0)).poll_flush(context)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind it is replaced as a whole, or belongs to a connection that is given up.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
