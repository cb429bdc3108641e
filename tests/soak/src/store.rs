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

/// The highest tokens of a resource that were accepted.
#[derive(Debug, Default)]
struct Highest {
    written: u64,
    read: u64,
}

impl Highest {
    /// Accepts a write or a reader's question with `token`, or returns the token that is in its way.
    fn accept(&mut self, token: u64, is_read: bool) -> Option<u64> {
        let in_the_way = match is_read {
            true => (token < self.written).then_some(self.written),
            false if token < self.written => Some(self.written),
            false => (token <= self.read).then_some(self.read),
        };
        if in_the_way.is_none() && is_read {
            self.read = token.max(self.read);
        } else if in_the_way.is_none() {
            self.written = token;
        }
        in_the_way
    }
}

type Store = Arc<Mutex<HashMap<String, Highest>>>;

/// Serves a store at the socket `path` until the runtime ends.
///
/// It lives in the parent, which is never stopped or killed: a holder that is stopped in the middle
/// of a write must not stop the others.
pub(crate) fn serve(path: &Path) {
    let listener = UnixListener::bind(path).expect("a socket in a directory of our own");
    let store = Store::default();
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                // A client that went away in the middle may have been served.
                Ok((client, _)) => drop(tokio::spawn(answer(Arc::clone(&store), client))),
                // A client that was gone before it was accepted wants nothing.
                Err(_) => tokio::task::yield_now().await,
            }
        }
    });
}

/// One connection, one write.
async fn answer(store: Store, client: UnixStream) -> io::Result<()> {
    let mut client = BufReader::new(client);
    let mut line = String::new();
    client.read_line(&mut line).await?;
    let (resource, token, is_read): (String, _, _) = serde_json::from_str(&line)?;
    let in_the_way = {
        let mut store = store.lock();
        store.entry(resource).or_default().accept(token, is_read)
    };
    let answer = serde_json::to_vec(&in_the_way)?;
    client.write_all(&answer).await
}

/// Writes to the store at `path` from another process, or asks as a reader. Returns the token that is in
/// the way.
pub(crate) async fn write(
    path: &Path,
    resource: &str,
    token: u64,
    is_read: bool,
) -> io::Result<Option<u64>> {
    let mut stream = UnixStream::connect(path).await?;
    let mut line = serde_json::to_vec(&(resource, token, is_read))?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(serde_json::from_str(&answer)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_below_an_accepted_one_is_refused() {
        let mut highest = Highest::default();
        assert_eq!(highest.accept(5, false), None);
        assert_eq!(highest.accept(4, false), Some(5));
        assert_eq!(highest.accept(4, true), Some(5));
        assert_eq!(highest.accept(5, true), None);
        assert_eq!(highest.accept(7, true), None);
        assert_eq!(highest.accept(6, true), None, "readers have no order");
        assert_eq!(highest.accept(7, false), Some(7), "a reader had it");
        assert_eq!(highest.accept(8, false), None);
    }
}
