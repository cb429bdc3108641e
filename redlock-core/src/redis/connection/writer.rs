//! The half of a connection that driver and callers write to.

use std::io;
use std::task::{Context, Poll, ready};

use tokio::net::tcp;
#[cfg(unix)]
use tokio::net::unix;

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
