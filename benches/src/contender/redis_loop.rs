//! Redlock as one writes it by hand, with the `redis` crate and an afternoon.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use redis::aio::MultiplexedConnection;
use redis::{Client, Cmd, FromRedisValue, RedisResult, Script, Value};

use super::{TTL, Unlocked};

const RELEASE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then \
                         return redis.call('DEL', KEYS[1]) \
                       else return 0 end";

/// How many answers are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// As the simple loop does.
    ForAll,
    /// A majority; the others are left to themselves.
    ForMajority,
}

/// One multiplexed connection a node, `SET NX PX` to all, a compare-and-delete script to all.
///
/// It has what such loops have, and lacks what they lack: no retries, no validity, no undoing of a
/// refused attempt, tokens that are unique but not random.
#[derive(Clone)]
pub struct RedisLoop {
    connections: Vec<MultiplexedConnection>,
    release: Arc<str>,
    wait: Wait,
}

impl RedisLoop {
    /// Connects to the servers at `urls`, from the current tokio runtime.
    pub async fn connect(urls: &[String], wait: Wait) -> Self {
        let script = Script::new(RELEASE);
        let mut connections = Vec::new();
        for url in urls {
            let client = Client::open(url.as_str()).expect("a URL of the harness");
            let connection = client.get_multiplexed_async_connection().await;
            let mut connection = connection.expect("a connection to a node that runs");
            let loaded = script.load_async(&mut connection).await;
            loaded.expect("a node that loads scripts");
            connections.push(connection);
        }
        Self {
            connections,
            release: script.get_hash().into(),
            wait,
        }
    }

    pub(super) async fn pair(&self, key: &str) -> Result<Unlocked, String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let token = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        let ttl = u64::try_from(TTL.as_millis()).unwrap_or(u64::MAX);

        let mut set = redis::cmd("SET");
        set.arg(key).arg(&token).arg("NX").arg("PX").arg(ttl);
        let (is_won, _) = self
            .ask_all(set, |answer: Value| answer == Value::Okay)
            .await;
        if !is_won {
            return Err("not acquired: no majority".to_owned());
        }

        let mut release = redis::cmd("EVALSHA");
        release.arg(&*self.release).arg(1).arg(key).arg(&token);
        let (is_free, mut rest) = self.ask_all(release, |answer: i64| answer == 1).await;
        if !rest.is_empty() {
            // A release that found the connection's queue full is not sent yet.
            tokio::spawn(async move { while rest.next().await.is_some() {} });
        }
        if !is_free {
            return Err("released, but not by a majority".to_owned());
        }
        Ok(Unlocked::Confirmed)
    }

    /// Sends `command` to all nodes. Whether a majority says yes, and who has not answered yet.
    async fn ask_all<A: FromRedisValue + Send>(
        &self,
        command: Cmd,
        is_yes: fn(A) -> bool,
    ) -> (
        bool,
        FuturesUnordered<impl Future<Output = bool> + Send + use<A>>,
    ) {
        let command = Arc::new(command);
        let ask = |mut connection: MultiplexedConnection| {
            let command = Arc::clone(&command);
            async move {
                let answer: RedisResult<A> = command.query_async(&mut connection).await;
                answer.is_ok_and(is_yes)
            }
        };
        let mut asked: FuturesUnordered<_> = self.connections.iter().cloned().map(ask).collect();
        let majority = self.connections.len() / 2 + 1;
        let mut granted = 0;
        while let Some(yes) = asked.next().await {
            granted += usize::from(yes);
            if self.wait == Wait::ForMajority && granted == majority {
                break;
            }
        }
        (granted >= majority, asked)
    }
}

impl fmt::Debug for RedisLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLoop")
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}
