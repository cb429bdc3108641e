//! A connection: two streams of bytes, each cut wherever it may be cut.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Mutex, MutexGuard};
use redlock_core::simulation::Wire;
use tokio::io::ReadBuf;
use tokio::sync::Notify;

use crate::random::Random;

/// How much of what a client writes is taken before the server reads.
const ROOM: usize = 4096;

/// How a connection ends for its client, behind the bytes that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Nothing more comes; what is written may still be read by the server.
    Closed,
    Reset,
}

/// Both ends share it.
pub(super) struct Pipe {
    state: Mutex<State>,
    /// Something for the server.
    news: Notify,
}

struct State {
    random: Random,
    /// Written, and not read by the server.
    up: VecDeque<u8>,
    /// Arrived at the client.
    down: VecDeque<u8>,
    end: Option<End>,
    /// The client has dropped it.
    is_left: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipe {
    pub(super) fn new(random: Random) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                random,
                up: VecDeque::new(),
                down: VecDeque::new(),
                end: None,
                is_left: false,
                reader: None,
                writer: None,
            }),
            news: Notify::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Some of the bytes that the client wrote, once there are any; `None` when it has gone.
    pub(super) async fn read(&self) -> Option<Vec<u8>> {
        loop {
            {
                let mut state = self.lock();
                if !state.up.is_empty() {
                    let length = state.up.len();
                    let part = state.random.part_of(length);
                    let read = state.up.drain(..part).collect();
                    let writer = state.writer.take();
                    drop(state);
                    writer.into_iter().for_each(Waker::wake);
                    return Some(read);
                }
                if state.is_left {
                    return None;
                }
            }
            self.news.notified().await;
        }
    }

    /// Bytes arrive at the client.
    pub(super) fn deliver(&self, bytes: &[u8]) {
        let reader = {
            let mut state = self.lock();
            if state.end.is_some() {
                return;
            }
            state.down.extend(bytes);
            state.reader.take()
        };
        reader.into_iter().for_each(Waker::wake);
    }

    /// From the client's point of view.
    pub(super) fn end(&self, end: End) {
        let woken = {
            let mut state = self.lock();
            state.end.get_or_insert(end);
            [state.reader.take(), state.writer.take()]
        };
        woken.into_iter().flatten().for_each(Waker::wake);
    }

    /// Whether the client has gone. What is served now, it may have undone elsewhere already.
    pub(super) fn is_left(&self) -> bool {
        self.lock().is_left
    }

    /// Forgets what the server has not read.
    pub(super) fn forget(&self) {
        self.lock().up.clear();
    }
}

/// The client's end.
pub(super) struct ClientEnd(pub(super) Arc<Pipe>);

impl Wire for ClientEnd {
    fn poll_read(&self, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        if state.down.is_empty() {
            return match state.end {
                Some(End::Closed) => Poll::Ready(Ok(())),
                Some(End::Reset) => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                None => {
                    state.reader = Some(context.waker().clone());
                    Poll::Pending
                }
            };
        }
        let most = state.down.len().min(into.remaining());
        let part = state.random.part_of(most);
        let read: Vec<u8> = state.down.drain(..part).collect();
        into.put_slice(&read);
        Poll::Ready(Ok(()))
    }

    fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.try_write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut state = self.0.lock();
                if state.up.len() < ROOM {
                    // It is ready again at once.
                    context.waker().wake_by_ref();
                } else {
                    state.writer = Some(context.waker().clone());
                }
                Poll::Pending
            }
            written => Poll::Ready(written),
        }
    }
}

impl ClientEnd {
    /// Writes the bytes that the connection takes at once. Fails with `WouldBlock` if it takes none.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        if state.end == Some(End::Reset) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let most = bytes.len().min(ROOM.saturating_sub(state.up.len()));
        if most == 0 || state.random.chance(500) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let part = state.random.part_of(most);
        state.up.extend(&bytes[..part]);
        drop(state);
        self.0.news.notify_one();
        Ok(part)
    }
}

impl Drop for ClientEnd {
    fn drop(&mut self) {
        self.0.lock().is_left = true;
        self.0.news.notify_one();
    }
}
