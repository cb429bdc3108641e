//! Inspection of a node's keys, without the library under test.

use super::RedisNode;
use redis::{FromRedisValue, RedisResult, ToRedisArgs, Value};
use std::time::Duration;

/// The longest wait for an answer. A node that runs answers at once, so this bounds the wait for a
/// node that does not answer, and is long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The answer to `PTTL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pttl {
    /// There is no such key.
    Missing,
    /// The key stays until someone deletes it.
    NoExpiry,
    /// The key expires after this time, in whole milliseconds.
    Left(Duration),
}

impl Pttl {
    /// Returns the remaining time of a key that has one.
    pub fn left(self) -> Option<Duration> {
        match self {
            Self::Left(time) => Some(time),
            Self::Missing | Self::NoExpiry => None,
        }
    }
}

impl RedisNode {
    /// Returns the value of a string key.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        self.query(&[b"GET", key.as_ref()])
    }

    /// Returns the remaining time of a key.
    pub fn pttl(&self, key: impl AsRef<[u8]>) -> Pttl {
        match self.query(&[b"PTTL", key.as_ref()]) {
            -2 => Pttl::Missing,
            -1 => Pttl::NoExpiry,
            left => Pttl::Left(Duration::from_millis(i64::unsigned_abs(left))),
        }
    }

    /// Returns all keys, sorted.
    pub fn keys(&self) -> Vec<Vec<u8>> {
        let mut keys: Vec<Vec<u8>> = self.query(&[b"KEYS", b"*"]);
        keys.sort();
        keys
    }

    /// Sets a key, with or without an expiry, and replaces any value that it had.
    pub fn set(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, px: Option<Duration>) {
        let (key, value) = (key.as_ref(), value.as_ref());
        match px.map(|px| px.as_millis().to_string()) {
            Some(px) => self.query::<()>(&[b"SET", key, value, b"PX", px.as_bytes()]),
            None => self.query::<()>(&[b"SET", key, value]),
        }
    }

    /// Deletes a key. Returns true if the key existed.
    pub fn del(&self, key: impl AsRef<[u8]>) -> bool {
        self.query(&[b"DEL", key.as_ref()])
    }

    /// Deletes all keys.
    pub fn flushall(&self) {
        self.query::<()>(&[b"FLUSHALL"]);
    }

    /// Makes the server forget all scripts, as a restart does.
    pub fn script_flush(&self) {
        self.query::<()>(&[b"SCRIPT", b"FLUSH"]);
    }

    /// Returns the server's wall clock (`TIME`): the time since 1970.
    pub fn time(&self) -> Duration {
        let (seconds, micros): (u64, u64) = self.query(&[b"TIME"]);
        Duration::from_secs(seconds) + Duration::from_micros(micros)
    }

    /// Returns a field of `INFO all`, such as `run_id` or `cmdstat_set`.
    pub fn info(&self, field: &str) -> Option<String> {
        let info: String = self.query(&[b"INFO", b"all"]);
        info.lines()
            .filter_map(|line| line.split_once(':'))
            .find_map(|(name, value)| (name == field).then(|| value.to_owned()))
    }

    /// Returns the number of times that the server has served `command`, also inside scripts.
    pub fn calls(&self, command: &str) -> u64 {
        let stats = self.info(&format!("cmdstat_{command}"));
        let calls = stats
            .as_deref()
            .and_then(|stats| stats.split(['=', ',']).nth(1));
        calls.map_or(0, |calls| calls.parse().expect("a number"))
    }

    /// Runs any command: `node.command(["CONFIG", "SET", "maxmemory", "1mb"])`.
    pub fn command<A: ToRedisArgs>(&self, words: impl IntoIterator<Item = A>) -> Value {
        self.try_command(words)
            .unwrap_or_else(|error| panic!("{self}: {error}"))
    }

    /// Runs any command. Returns the error of a node that refuses it or takes longer than 20 seconds.
    pub fn try_command<T: FromRedisValue>(
        &self,
        words: impl IntoIterator<Item = impl ToRedisArgs>,
    ) -> RedisResult<T> {
        self.try_command_within(TIMEOUT, words)
    }

    /// Runs any command with a timeout that the caller chooses.
    pub fn try_command_within<T: FromRedisValue>(
        &self,
        timeout: Duration,
        words: impl IntoIterator<Item = impl ToRedisArgs>,
    ) -> RedisResult<T> {
        // Open a new connection for each command, so that none is left over from before a restart or a freeze.
        let url = match self.options.tls {
            Some(_) => self.unix_url(),
            None => self.url(),
        };
        let client = redis::Client::open(url)?;
        let mut connection = client.get_connection_with_timeout(timeout)?;
        connection.set_read_timeout(Some(timeout))?;
        connection.set_write_timeout(Some(timeout))?;
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(word);
        }
        command.query(&mut connection)
    }

    /// Describes a key with its value and remaining time, for failure messages.
    pub(crate) fn describe_key(&self, key: &[u8]) -> String {
        let value = match self.try_command::<Option<Vec<u8>>>([&b"GET"[..], key]) {
            Ok(Some(value)) => format!("{:?}", value.escape_ascii().to_string()),
            Ok(None) => "gone by now".to_owned(),
            Err(error) => format!("<{error}>"),
        };
        format!(
            "{self}: {:?} = {value}, {:?}",
            key.escape_ascii().to_string(),
            self.pttl(key)
        )
    }

    fn query<T: FromRedisValue>(&self, words: &[&[u8]]) -> T {
        self.try_command(words).unwrap_or_else(|error| {
            let command = words[0].escape_ascii();
            panic!("{self} did not answer `{command}`: {error}")
        })
    }
}

impl std::fmt::Display for RedisNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match (self.is_running(), self.is_reachable()) {
            (false, _) => " (down)",
            (true, false) => " (frozen)",
            (true, true) => "",
        };
        write!(f, "node {}{state}", self.addr())
    }
}
