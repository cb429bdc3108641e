//! The bytes from and to a server, as a task that serves a connection moves them.

use std::future::Future as _;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};

use crate::node::NodeError;

use super::errors::{CLOSED, describe, lost};

/// Reads into `input`, which has room, and returns how many bytes. `None` if nothing more is there:
/// the task is woken when there is.
pub(in crate::redis) fn read(
    socket: &mut (impl AsyncRead + Unpin),
    input: &mut BytesMut,
    context: &mut Context<'_>,
) -> Result<Option<usize>, NodeError> {
    // Dropping this future half-way loses nothing: it reads into the buffer or not at all.
    match pin!(socket.read_buf(input)).poll(context) {
        Poll::Pending => Ok(None),
        Poll::Ready(Ok(0)) => Err(lost(CLOSED)),
        Poll::Ready(Ok(count)) => Ok(Some(count)),
        Poll::Ready(Err(error)) => Err(lost(describe(&error))),
    }
}

/// Writes as much of `output` as the socket takes. If something is left, the task is woken when the
/// socket may take more, and comes by here again.
pub(in crate::redis) fn write(
    socket: &mut (impl AsyncWrite + Unpin),
    output: &mut BytesMut,
    context: &mut Context<'_>,
) -> Result<(), NodeError> {
    write_out(Pin::new(socket), output, context).map_err(|error| lost(describe(&error)))
}

fn write_out(
    mut socket: Pin<&mut impl AsyncWrite>,
    output: &mut BytesMut,
    context: &mut Context<'_>,
) -> io::Result<()> {
    while !output.is_empty() {
        match socket.as_mut().poll_write(context, output)? {
            Poll::Ready(0) => return Err(io::ErrorKind::WriteZero.into()),
            Poll::Ready(written) => output.advance(written),
            Poll::Pending => return Ok(()),
        }
    }
    match socket.poll_flush(context) {
        Poll::Ready(flushed) => flushed,
        Poll::Pending => Ok(()),
    }
}
