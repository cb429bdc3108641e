//! The upper limit: the commands of a lock over plain sockets.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use redis::Script;

use super::TTL;
use super::redis_loop::RELEASE;

/// The longest time for an answer before the benchmark gives up.
const PATIENCE: Duration = Duration::from_secs(10);

/// One blocking thread with a socket to each node, which locks and releases for all callers at
/// once: their commands were encoded beforehand, and go to each node in one write. It waits for the
/// answers of all nodes to the locks before it sends the releases, and the other way round.
///
/// This is not a usable lock: the callers move in step, the token is always the same, and there are no
/// timeouts, retries or clean-ups. Its time is what remains without all of that.
pub(crate) struct RawLoop {
    nodes: Vec<TcpStream>,
    locks: Step,
    releases: Step,
    answers: Vec<u8>,
}

/// Commands for every node in one write, and the answer that each has to give.
#[derive(Default)]
struct Step {
    commands: Vec<u8>,
    answers: Vec<u8>,
}

impl RawLoop {
    /// Returns its name in the tables.
    pub(crate) const NAME: &str = "raw sockets";

    /// Connects to the servers at `urls` for the callers of these keys, one for each.
    pub(crate) fn connect(urls: &[String], keys: &[String]) -> Self {
        let script = Script::new(RELEASE);
        let ttl = TTL.as_millis().to_string();
        let (mut locks, mut releases) = (Step::default(), Step::default());
        for key in keys {
            let token = "127.0.0.1/4711/0123456789abcdef0123456789abcdef";
            locks.add(&["SET", key, token, "NX", "PX", &ttl], b"+OK\r\n");
            let release = ["EVALSHA", script.get_hash(), "1", key, token];
            releases.add(&release, b":1\r\n");
        }
        let nodes = urls.iter().map(|url| connect(url)).collect();
        let mut raw = Self {
            nodes,
            answers: vec![0; locks.answers.len()],
            locks,
            releases,
        };
        raw.load(RELEASE);
        raw
    }

    /// Locks and releases once for every caller.
    ///
    /// # Errors
    /// A text with what was not answered as it should be.
    pub(crate) fn pairs(&mut self) -> Result<(), String> {
        for step in [&self.locks, &self.releases] {
            step.take(&mut self.nodes, &mut self.answers)
                .map_err(|error| format!("a raw socket: {error}"))?;
        }
        Ok(())
    }

    fn load(&mut self, script: &str) {
        let mut load = Step::default();
        let hash = Script::new(script).get_hash().to_owned();
        let answer = format!("$40\r\n{hash}\r\n");
        load.add(&["SCRIPT", "LOAD", script], answer.as_bytes());
        let mut answers = vec![0; load.answers.len()];
        let loaded = load.take(&mut self.nodes, &mut answers);
        loaded.expect("a node that loads scripts");
    }
}

fn connect(url: &str) -> TcpStream {
    let address = url.strip_prefix("redis://").expect("a URL of the harness");
    let stream = TcpStream::connect(address).expect("a connection to a node that runs");
    stream.set_nodelay(true).expect("a TCP socket");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a timeout that is not zero");
    stream
}

impl Step {
    /// Adds a command, as RESP, and its answer.
    fn add(&mut self, words: &[&str], answer: &[u8]) {
        self.commands
            .extend(format!("*{}\r\n", words.len()).bytes());
        for word in words {
            self.commands
                .extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
        }
        self.answers.extend(answer);
    }

    /// Sends it to all nodes, and then reads all that they answer into `buffer`.
    fn take(&self, nodes: &mut [TcpStream], buffer: &mut [u8]) -> io::Result<()> {
        for node in &mut *nodes {
            node.write_all(&self.commands)?;
        }
        for node in nodes {
            let answers = &mut buffer[..self.answers.len()];
            node.read_exact(answers)?;
            if answers != self.answers {
                let answers = answers.escape_ascii();
                return Err(io::Error::other(format!("unexpected answers: {answers}")));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RawLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawLoop")
            .field("nodes", &self.nodes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn commands_are_resp_one_behind_the_other() {
        let mut step = Step::default();
        step.add(&["GET", "k"], b"$-1\r\n");
        step.add(&["TIME"], b"");
        assert_eq!(
            step.commands,
            b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nTIME\r\n"
        );
        assert_eq!(step.answers, b"$-1\r\n");
    }
}
