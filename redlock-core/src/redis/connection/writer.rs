//! The half of a connection that driver and callers write to.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;
use tokio::net::tcp;
#[cfg(unix)]
use tokio::net::unix;

/// The half of a connection that driver and callers write to, one at a time.
pub(in crate::redis) trait Writer: Send + Sync {
    /// Writes for a caller as many bytes as the socket takes right now. `WouldBlock` if it takes
    /// none, or if only the driver may write.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Writes for the driver as many bytes as the socket takes. If it takes none, the driver is woken
    /// when it may take some.
    fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Sends the bytes that were accepted and not sent yet. If the socket does not take all of them,
    /// the driver is woken when it may.
    fn poll_flush(&self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The driver's way to write. It never shuts a connection down, but drops it.
impl AsyncWrite for &(dyn Writer + '_) {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Writer::poll_write(*self, context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Writer::poll_flush(*self, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
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

/// The halves that callers share with the driver have no `&mut`.
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
