//! The store that holders write to: it takes a write whose token is at least the highest that it has
//! seen, as a database behind a fenced lock does.

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
    pub(crate) is_accepted: bool,
}

#[derive(Debug, Default)]
struct State {
    highest: HashMap<String, u64>,
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
        let words = line.trim_end().split_once(' ');
        let Some((resource, Ok(token))) = words.map(|(name, token)| (name, token.parse())) else {
            return;
        };
        let answer = match self.write(resource, token) {
            Ok(()) => "ok\n".to_owned(),
            Err(highest) => format!("no {highest}\n"),
        };
        let _ = client.write_all(answer.as_bytes()).await;
    }

    /// Takes the write, or says which token is higher.
    fn write(&self, resource: &str, token: u64) -> Result<(), u64> {
        let mut state = self.0.lock();
        let highest = state.highest.entry(resource.to_owned()).or_default();
        let before = *highest;
        *highest = before.max(token);
        let is_accepted = token >= before;
        state.writes.push(Write {
            resource: resource.to_owned(),
            token,
            is_accepted,
        });
        if is_accepted { Ok(()) } else { Err(before) }
    }

    pub(crate) fn writes(&self) -> Vec<Write> {
        let state = self.0.lock();
        state.writes.clone()
    }

    pub(crate) fn refused(&self) -> usize {
        let state = self.0.lock();
        let refused = state.writes.iter().filter(|write| !write.is_accepted);
        refused.count()
    }
}

/// Writes to the store at `path` from another process. `Err` has the token that is higher.
pub(crate) async fn write(path: &Path, resource: &str, token: u64) -> io::Result<Result<(), u64>> {
    let mut stream = UnixStream::connect(path).await?;
    let line = format!("{resource} {token}\n");
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
    fn a_token_below_the_highest_is_refused_for_its_resource() {
        let store = Store::default();
        assert_eq!(store.write("r", 5), Ok(()));
        assert_eq!(store.write("r", 5), Ok(()), "the same holder again");
        assert_eq!(store.write("r", 7), Ok(()));
        assert_eq!(store.write("r", 5), Err(7));
        assert_eq!(store.write("other", 1), Ok(()));
        assert_eq!(store.refused(), 1);
    }
}
