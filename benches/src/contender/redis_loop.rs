//! A simple Redlock, written directly with the `redis` crate.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use rand::RngExt as _;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, RedisResult, Script, Value};

use super::{TTL, Unlocked, held};

pub(super) const RELEASE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then \
                         return redis.call('DEL', KEYS[1]) \
                       else return 0 end";

/// How long a node may take to answer: half a second, the crate's default, is a stall of a busy
/// machine, and would count as a failure.
const PATIENCE: Duration = Duration::from_secs(10);

/// The answers for which the loop waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// As the simple loop does.
    ForAll,
    /// A majority; the others are left to themselves.
    ForMajority,
}

/// One multiplexed connection a node, `SET NX PX` to all, a compare-and-delete script to all.
///
/// It has what such loops have, and lacks what they lack: no validity, tokens that are unique but
/// not random. A refused attempt is undone and tried again only where others want the key.
#[derive(Clone)]
pub(crate) struct RedisLoop {
    connections: Vec<MultiplexedConnection>,
    release: Arc<str>,
    wait: Wait,
}

impl RedisLoop {
    /// Connects to the servers at `urls`, from the current tokio runtime.
    pub(crate) async fn connect(urls: &[String], wait: Wait) -> Self {
        let script = Script::new(RELEASE);
        let mut connections = Vec::new();
        for url in urls {
            let client = Client::open(url.as_str()).expect("a URL of the harness");
            let config = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
            let connection = client.get_multiplexed_async_connection_with_config(&config);
            let connection = connection.await;
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
        match self.attempt(key, TTL).await {
            Ok(taken) => taken.release().await,
            Err(_) => Err("not acquired: no majority".to_owned()),
        }
    }

    /// Tries again and again, with a random pause below `delay` after each refusal, as such loops
    /// do.
    pub(super) async fn wait_for(
        &self,
        key: &str,
        patience: Duration,
        delay: Duration,
    ) -> Result<Taken, String> {
        let end = Instant::now() + patience;
        loop {
            match self.attempt(key, held::TTL).await {
                Ok(taken) => return Ok(taken),
                Err(refused) => refused.undo().await,
            }
            if Instant::now() >= end {
                return Err("not acquired: no majority in time".to_owned());
            }
            let part = rand::rng().random_range(0.0..1.0);
            tokio::time::sleep(delay.mul_f64(part)).await;
        }
    }

    /// Makes one attempt with a fresh token. `Err` has the release that undoes a refused attempt.
    async fn attempt(&self, key: &str, ttl: Duration) -> Result<Taken, Taken> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let token = format!("{}-{number}", std::process::id());
        let ttl = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);

        let mut set = redis::cmd("SET");
        set.arg(key).arg(&token).arg("NX").arg("PX").arg(ttl);
        let (is_won, _) = self
            .ask_all(set, |answer: Value| answer == Value::Okay)
            .await;
        let mut release = redis::cmd("EVALSHA");
        release.arg(&*self.release).arg(1).arg(key).arg(&token);
        let granted = Taken {
            by: self.clone(),
            release,
        };
        if is_won { Ok(granted) } else { Err(granted) }
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

/// A key that some of the nodes granted, and the command that gives it back.
#[derive(Clone)]
pub(crate) struct Taken {
    by: RedisLoop,
    release: Cmd,
}

impl Taken {
    pub(super) async fn release(self) -> Result<Unlocked, String> {
        if self.send().await {
            Ok(Unlocked::Confirmed)
        } else {
            Err("released, but not by a majority".to_owned())
        }
    }

    /// Gives the key back if only a minority may have granted it. No majority can confirm that.
    async fn undo(self) {
        self.send().await;
    }

    async fn send(self) -> bool {
        let (is_free, mut rest) = self
            .by
            .ask_all(self.release, |answer: i64| answer == 1)
            .await;
        if !rest.is_empty() {
            // A release that found the connection's queue full is not sent yet.
            tokio::spawn(async move { while rest.next().await.is_some() {} });
        }
        is_free
    }
}

impl fmt::Debug for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taken").finish_non_exhaustive()
    }
}

impl fmt::Debug for RedisLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLoop")
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}
