//! A connected socket that one tokio runtime watches at a time.

use std::io::{self, IoSlice};
#[cfg(unix)]
use std::os::fd::AsFd as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::runtime::Handle;

use super::socket::Stream;

/// A connected socket. The runtime that watches it can be changed from any thread. All clones are the
/// same socket.
#[derive(Clone)]
pub(in crate::redis) struct Movable(Arc<Mutex<Watched>>);

/// A socket in the hands of one runtime.
enum Watched {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Watched {
    fn stream(&mut self) -> Pin<&mut dyn Stream> {
        match self {
            Self::Tcp(stream) => Pin::new(stream),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream),
        }
    }

    /// The same socket in the hands of the current runtime.
    #[cfg(unix)]
    fn again(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(stream) => {
                let same = stream.as_fd().try_clone_to_owned()?;
                TcpStream::from_std(same.into()).map(Self::Tcp)
            }
            Self::Unix(stream) => {
                let same = stream.as_fd().try_clone_to_owned()?;
                UnixStream::from_std(same.into()).map(Self::Unix)
            }
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "as on Unix")]
    fn again(&self) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Movable {
    fn new(socket: Watched) -> Self {
        Self(Arc::new(Mutex::new(socket)))
    }

    /// Lets the runtime of `handle` watch the socket, and the one before no more. Tasks that wait for the
    /// socket are not woken: poll them again.
    ///
    /// # Panics
    /// If that runtime watches no sockets.
    pub(in crate::redis) fn move_to(&self, handle: &Handle) -> io::Result<()> {
        let _entered = handle.enter();
        let mut socket = self.0.lock();
        *socket = socket.again()?;
        Ok(())
    }
}

impl From<TcpStream> for Movable {
    fn from(socket: TcpStream) -> Self {
        Self::new(Watched::Tcp(socket))
    }
}

#[cfg(unix)]
impl From<UnixStream> for Movable {
    fn from(socket: UnixStream) -> Self {
        Self::new(Watched::Unix(socket))
    }
}

impl AsyncRead for Movable {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.lock().stream().poll_read(context, into)
    }
}

impl AsyncWrite for Movable {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().stream().poll_write(context, bytes)
    }

    // A handshake's messages go out in one write: between two, the server may refuse the first and close.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().stream().poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
