//! The store that holders write to, as a database behind a fenced lock: it takes a write whose token is at
//! least that of every write before, and above that of every reader before. A reader asks it whether its
//! token is at least that of every write before.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) resource: String,
    pub(crate) token: u64,
    /// True if it is the question of a reader.
    pub(crate) is_read: bool,
    pub(crate) is_accepted: bool,
}

/// The highest tokens of a resource that were accepted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Highest {
    written: u64,
    read: u64,
}

impl Highest {
    /// Accepts a write or a reader's question with `token`, or says which token is in its way.
    pub(crate) fn accept(&mut self, token: u64, is_read: bool) -> Result<(), u64> {
        let in_the_way = match is_read {
            true => (token < self.written).then_some(self.written),
            false if token < self.written => Some(self.written),
            false => (token <= self.read).then_some(self.read),
        };
        if let Some(higher) = in_the_way {
            return Err(higher);
        }
        let highest = if is_read {
            &mut self.read
        } else {
            &mut self.written
        };
        *highest = token.max(*highest);
        Ok(())
    }
}

#[derive(Debug, Default)]
struct State {
    highest: HashMap<String, Highest>,
    /// In the order in which they were decided.
    writes: Vec<Write>,
}

/// It lives in the parent, which is never stopped or killed: a holder that is stopped in the middle
/// of a write must not stop the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store(Arc<Mutex<State>>);

impl Store {
    /// Serves the socket at `path` until the runtime ends.
    pub(crate) fn serve(path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        let store = Self::default();
        let serving = store.clone();
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((client, _)) => drop(tokio::spawn(serving.clone().answer(client))),
                    // A client that was gone before it was accepted wants nothing.
                    Err(_) => tokio::task::yield_now().await,
                }
            }
        });
        Ok(store)
    }

    /// One connection, one write. A client that went away in the middle may have been served.
    async fn answer(self, client: UnixStream) {
        let mut client = BufReader::new(client);
        let mut line = String::new();
        if client.read_line(&mut line).await.is_err() {
            return;
        }
        let words: Vec<&str> = line.trim_end().split(' ').collect();
        let [verb, resource, token] = words[..] else {
            return;
        };
        let Ok(token) = token.parse() else { return };
        let answer = match self.write(resource, token, verb == READ) {
            Ok(()) => "ok\n".to_owned(),
            Err(highest) => format!("no {highest}\n"),
        };
        let _ = client.write_all(answer.as_bytes()).await;
    }

    /// Takes the write or the reader's question, or says which token is in its way.
    fn write(&self, resource: &str, token: u64, is_read: bool) -> Result<(), u64> {
        let mut state = self.0.lock();
        let highest = state.highest.entry(resource.to_owned()).or_default();
        let outcome = highest.accept(token, is_read);
        state.writes.push(Write {
            resource: resource.to_owned(),
            token,
            is_read,
            is_accepted: outcome.is_ok(),
        });
        outcome
    }

    pub(crate) fn writes(&self) -> Vec<Write> {
        let state = self.0.lock();
        state.writes.clone()
    }
}

const READ: &str = "read";
const WRITE: &str = "write";

/// Writes to the store at `path` from another process, or asks as a reader. `Err` has the token that is in
/// the way.
pub(crate) async fn write(
    path: &Path,
    resource: &str,
    token: u64,
    is_read: bool,
) -> io::Result<Result<(), u64>> {
    let mut stream = UnixStream::connect(path).await?;
    let verb = if is_read { READ } else { WRITE };
    let line = format!("{verb} {resource} {token}\n");
    stream.write_all(line.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    if answer == "ok\n" {
        return Ok(Ok(()));
    }
    let highest = answer
        .strip_prefix("no ")
        .and_then(|rest| rest.trim_end().parse().ok());
    match highest {
        Some(highest) => Ok(Err(highest)),
        None => Err(io::Error::other(format!("the store said {answer:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_has_the_token_of_the_last_writer_at_least_and_the_next_writer_a_higher_one() {
        let store = Store::default();
        assert_eq!(store.write("r", 5, false), Ok(()));
        assert_eq!(store.write("r", 4, true), Err(5));
        assert_eq!(store.write("r", 5, true), Ok(()));
        assert_eq!(store.write("r", 7, true), Ok(()));
        assert_eq!(store.write("r", 6, true), Ok(()), "readers have no order");
        assert_eq!(store.write("r", 7, false), Err(7), "a reader had it");
        assert_eq!(store.write("r", 8, false), Ok(()));
    }
}
