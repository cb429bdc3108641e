//! A connection: two streams of bytes, each cut wherever it may be cut.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Mutex, MutexGuard};
use redlock_core::simulation::Wire;
use tokio::io::ReadBuf;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::yield_now;

use crate::random::Random;

use super::lending::Runtimes;
use super::town::Shared;

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
    /// The number of its connection.
    number: u64,
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
    /// The runtime that watches it, if that is not the library's.
    watcher: Option<Handle>,
    /// Who waited for news when another runtime began to watch it.
    lender: Option<Waker>,
    /// Its runtime has seen that there is something to read.
    is_seen: bool,
    /// The bytes that the server has read, and are no whole command yet, or not served.
    unserved: usize,
}

impl State {
    /// What wakes the client, once its runtime has seen it.
    fn seen(&mut self) -> Option<Waker> {
        self.is_seen = true;
        self.reader.take()
    }
}

impl Pipe {
    pub(super) fn new(random: Random, number: u64) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                random,
                up: VecDeque::new(),
                down: VecDeque::new(),
                end: None,
                is_left: false,
                reader: None,
                writer: None,
                watcher: None,
                lender: None,
                is_seen: true,
                unserved: 0,
            }),
            news: Notify::new(),
            number,
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
    pub(super) fn deliver(self: &Arc<Self>, bytes: &[u8]) {
        let mut state = self.lock();
        if state.end.is_some() {
            return;
        }
        state.down.extend(bytes);
        drop(state);
        self.show();
    }

    /// There is news for the client. A runtime sees it when it looks at its sockets.
    fn show(self: &Arc<Self>) {
        let mut state = self.lock();
        let watcher = state.watcher.clone();
        let reader = if watcher.is_none() {
            state.seen()
        } else {
            None
        };
        drop(state);
        reader.into_iter().for_each(Waker::wake);
        if let Some(watcher) = watcher {
            self.look_in(&watcher, true);
        }
    }

    /// `runtime` looks at the connection, behind the tasks that are there.
    fn look_in(self: &Arc<Self>, runtime: &Handle, is_away: bool) {
        let (pipe, id) = (Arc::clone(self), is_away.then(|| runtime.id()));
        runtime.spawn(async move {
            yield_now().await;
            let mut state = pipe.lock();
            let is_its = state.watcher.as_ref().map(Handle::id) == id;
            let is_news = !state.down.is_empty() || state.end.is_some();
            let reader = if is_its && is_news {
                state.seen()
            } else {
                None
            };
            drop(state);
            reader.into_iter().for_each(Waker::wake);
        });
    }

    /// Lets `runtime` watch it, which has not looked at it yet.
    fn watch(self: &Arc<Self>, runtime: &Handle, is_away: bool) {
        let forgotten = {
            let mut state = self.lock();
            state.watcher = is_away.then(|| runtime.clone());
            state.is_seen = false;
            let reader = state.reader.take();
            let (lender, reader) = if is_away {
                (reader, None)
            } else {
                (None, reader)
            };
            let lender = std::mem::replace(&mut state.lender, lender);
            [reader, lender, state.writer.take()]
        };
        drop(forgotten);
        self.look_in(runtime, is_away);
    }

    /// Wakes the one who let another runtime watch it.
    pub(super) fn wake_lender(&self) {
        let lender = self.lock().lender.take();
        lender.into_iter().for_each(Waker::wake);
    }

    /// The server has read this number of bytes that it has not served.
    pub(super) fn set_unserved(&self, bytes: usize) {
        self.lock().unserved = bytes;
    }

    /// Whether something is on its way to the server or from it.
    pub(super) fn is_waited_for(&self) -> bool {
        let state = self.lock();
        !state.up.is_empty() || !state.down.is_empty() || state.unserved > 0
    }

    /// From the client's point of view.
    pub(super) fn end(self: &Arc<Self>, end: End) {
        let writer = {
            let mut state = self.lock();
            state.end.get_or_insert(end);
            state.writer.take()
        };
        writer.into_iter().for_each(Waker::wake);
        self.show();
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
pub(super) struct ClientEnd {
    pub(super) pipe: Arc<Pipe>,
    pub(super) town: Shared,
    pub(super) runtimes: Arc<Runtimes>,
}

impl Wire for ClientEnd {
    fn poll_read(&self, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = self.pipe.lock();
        if !state.is_seen {
            state.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        if state.down.is_empty() {
            return match state.end {
                Some(End::Closed) => Poll::Ready(Ok(())),
                Some(End::Reset) => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                None => {
                    state.is_seen = false;
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
                let mut state = self.pipe.lock();
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

    fn move_to(&self, runtime: &Handle) -> io::Result<()> {
        let number = self.pipe.number;
        let is_away = self
            .runtimes
            .watches(&self.town, number, &self.pipe, runtime)?;
        self.pipe.watch(runtime, is_away);
        Ok(())
    }
}

impl ClientEnd {
    /// Writes the bytes that the connection takes at once. Fails with `WouldBlock` if it takes none.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.pipe.lock();
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
        self.pipe.news.notify_one();
        Ok(part)
    }
}

impl Drop for ClientEnd {
    fn drop(&mut self) {
        self.pipe.lock().is_left = true;
        self.pipe.news.notify_one();
        self.runtimes.gone(&self.town, self.pipe.number);
    }
}
