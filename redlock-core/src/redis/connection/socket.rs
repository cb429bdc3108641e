//! The bytes to and from a server, over TCP, a unix socket or TLS.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
#[cfg(feature = "tls")]
use tokio_rustls::client::TlsStream;

use crate::node::NodeError;
use crate::redis::address::{Endpoint, Server};

use super::errors::broken;
#[cfg(not(unix))]
use super::errors::not_connected;
use super::movable::Movable;
#[cfg(feature = "tls")]
use super::tls::shake_hands;

/// A connection before it is split.
pub(in crate::redis) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// An open connection on which nothing was sent yet. Dropping it closes the connection.
pub(super) enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
    #[cfg(feature = "tls")]
    Tls(Box<TlsStream<Movable>>),
}

impl Socket {
    pub(super) async fn open(server: &Server) -> Result<Self, NodeError> {
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
                    Some(tls) => Ok(Self::Tls(Box::new(shake_hands(tls, host, stream).await?))),
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
        }
    }

    /// The connection, and its socket if another runtime can watch it.
    #[cfg(not(unix))]
    pub(super) fn lendable(self) -> (Box<dyn Stream>, Option<Movable>) {
        (self.into_stream(), None)
    }

    /// The connection, and its socket if another runtime can watch it.
    #[cfg(unix)]
    pub(super) fn lendable(self) -> (Box<dyn Stream>, Option<Movable>) {
        let socket = match self {
            Self::Tcp(stream) => Movable::from(stream),
            Self::Unix(stream) => Movable::from(stream),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => {
                let socket = stream.get_ref().0.clone();
                return (stream, Some(socket));
            }
        };
        (Box::new(socket.clone()), Some(socket))
    }

    pub(super) fn into_stream(self) -> Box<dyn Stream> {
        match self {
            Self::Tcp(stream) => Box::new(stream),
            #[cfg(unix)]
            Self::Unix(stream) => Box::new(stream),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream,
        }
    }
}
