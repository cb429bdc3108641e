//! The bytes to and from a server, over whatever carries them.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, tcp};
#[cfg(unix)]
use tokio::net::{UnixStream, unix};
#[cfg(feature = "tls")]
use tokio_rustls::client::TlsStream;

use crate::node::NodeError;
use crate::redis::address::{Endpoint, Server};

use super::errors::broken;
#[cfg(not(unix))]
use super::errors::not_connected;
#[cfg(feature = "tls")]
use super::tls::TlsWriter;

/// A connection before anybody shares it.
pub(in crate::redis) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The half of a connection that the driver reads.
pub(in crate::redis) type Reader = Box<dyn AsyncRead + Send + Unpin>;

/// The half of a connection that driver and callers write to, one at a time.
pub(in crate::redis) trait Writer: Send + Sync {
    /// A caller writes what the socket takes right now; `WouldBlock` where that is nothing, or
    /// where only the driver may write.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// The driver writes what is taken; where that is nothing, it is woken when there may be more.
    fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Gets out what was taken and not yet sent; where the socket does not take it all, the driver
    /// is woken when it may.
    fn poll_flush(&self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(feature = "simulation")]
impl Writer for crate::simulation::Socket {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_write(context, bytes)
    }
}

impl Writer for tcp::OwnedWriteHalf {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.as_ref().try_write(bytes)
    }

    fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let ready = |context: &mut Context<'_>| self.as_ref().poll_write_ready(context);
        poll_write(context, ready, || self.as_ref().try_write(bytes))
    }
}

#[cfg(unix)]
impl Writer for unix::OwnedWriteHalf {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.as_ref().try_write(bytes)
    }

    fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let ready = |context: &mut Context<'_>| self.as_ref().poll_write_ready(context);
        poll_write(context, ready, || self.as_ref().try_write(bytes))
    }
}

/// The halves that callers share with the driver lend no `&mut`.
fn poll_write(
    context: &mut Context<'_>,
    poll_ready: impl Fn(&mut Context<'_>) -> Poll<io::Result<()>>,
    try_write: impl Fn() -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        match try_write() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready!(poll_ready(context))?,
            written => return Poll::Ready(written),
        }
    }
}

/// Nothing was said yet. Dropping it closes it.
pub(super) enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
    #[cfg(feature = "tls")]
    Tls(Box<TlsStream<TcpStream>>),
    #[cfg(feature = "simulation")]
    Simulated(crate::simulation::Socket),
}

impl Socket {
    pub(super) async fn open(server: &Server) -> Result<Self, NodeError> {
        #[cfg(feature = "simulation")]
        if let Some(connecting) = crate::simulation::connect(&server.to_string()) {
            let socket = connecting.await.map_err(|error| broken(&error))?;
            return Ok(Self::Simulated(socket));
        }
        match &server.endpoint {
            Endpoint::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port))
                    .await
                    .map_err(|error| broken(&error))?;
                // A lock is one small message each way; waiting to fill a packet would cost 40 ms.
                stream.set_nodelay(true).map_err(|error| broken(&error))?;
                match &server.tls {
                    None => Ok(Self::Tcp(stream)),
                    #[cfg(feature = "tls")]
                    Some(tls) => Ok(Self::Tls(Box::new(tls.shake_hands(host, stream).await?))),
                    #[cfg(not(feature = "tls"))]
                    Some(none) => match **none {},
                }
            }
            #[cfg(unix)]
            Endpoint::Unix(path) => {
                let stream = UnixStream::connect(path).await;
                Ok(Self::Unix(stream.map_err(|error| broken(&error))?))
            }
            #[cfg(not(unix))]
            Endpoint::Unix(_) => Err(not_connected("this system has no unix sockets")),
        }
    }

    pub(super) fn stream(&mut self) -> &mut dyn Stream {
        match self {
            Self::Tcp(stream) => stream,
            #[cfg(unix)]
            Self::Unix(stream) => stream,
            #[cfg(feature = "tls")]
            Self::Tls(stream) => &mut **stream,
            #[cfg(feature = "simulation")]
            Self::Simulated(socket) => socket,
        }
    }

    pub(super) fn split(self) -> (Reader, Arc<dyn Writer>) {
        match self {
            Self::Tcp(stream) => {
                let (reader, writer) = stream.into_split();
                (Box::new(reader), Arc::new(writer))
            }
            #[cfg(unix)]
            Self::Unix(stream) => {
                let (reader, writer) = stream.into_split();
                (Box::new(reader), Arc::new(writer))
            }
            #[cfg(feature = "tls")]
            Self::Tls(stream) => {
                let (reader, writer) = tokio::io::split(*stream);
                (Box::new(reader), Arc::new(TlsWriter::new(writer)))
            }
            #[cfg(feature = "simulation")]
            Self::Simulated(socket) => (Box::new(socket.clone()), Arc::new(socket)),
        }
    }

    pub(super) fn into_stream(self) -> Box<dyn Stream> {
        match self {
            Self::Tcp(stream) => Box::new(stream),
            #[cfg(unix)]
            Self::Unix(stream) => Box::new(stream),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream,
            #[cfg(feature = "simulation")]
            Self::Simulated(socket) => Box::new(socket),
        }
    }
}
