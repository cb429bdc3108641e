//! The process of one caller. It stops before each command and in its body, says where, and waits for a word.

use std::io;
use std::time::{Duration, UNIX_EPOCH};

use redis::{Client, FromRedisValue};
use redlock_runtime::Config;
use redlock_runtime::config::RestartCheck;
use tokio::task::spawn_blocking;

use crate::generations::{self, Code, Setup};
use crate::servers::url;

/// The hidden command: `caller <generation> <key> <ttl in ms> <clock in ms, or -> <port>…`.
pub(crate) const COMMAND: &str = "caller";

/// The end of an attempt: why it failed begins with `refused`, `failed`, `fenced`, `lost` or `down`.
pub(crate) type Outcome = Result<(), String>;

/// One attempt to lock, as the implementations see it.
pub(crate) struct Attempt {
    pub(crate) key: String,
    pub(crate) ttl_ms: u64,
    /// The time that the host's clock shows, if it stands still.
    clock: Option<u64>,
    server: String,
}

impl Attempt {
    /// Returns the time by the host's clock.
    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.unwrap_or_else(wall_clock_ms)
    }

    /// Stops, then sends a command to the server.
    pub(crate) fn send<T: FromRedisValue>(&self, words: &[&str]) -> Result<T, String> {
        stop_at(&format!("before {}", words[0]))?;
        let connection = Client::open(&self.server[..]).and_then(|client| client.get_connection());
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        let reply = connection.and_then(|mut connection| command.query(&mut connection));
        reply.map_err(|error| format!("down: {error}"))
    }

    /// Sends a command that takes the lock, unless it is taken.
    pub(crate) fn take(&self, words: &[&str]) -> Outcome {
        let is_taken: bool = self.send(words)?;
        is_taken.then_some(()).ok_or("refused".to_owned())
    }

    /// Does what it is told to under the lock. A token of 0 is none.
    pub(crate) async fn body(&self, token: u64) -> Outcome {
        loop {
            match wait_at("inside").await?.as_str() {
                "look" => {}
                "end" => return Ok(()),
                // From here to the store's answer there is no await, so no library can intervene.
                "write" if stop_at(&format!("writes {token}"))? == "taken" => return Ok(()),
                "write" => return Err("fenced".to_owned()),
                _ => return Err("failed".to_owned()),
            }
        }
    }
}

/// Makes an attempt at each word, until the directing process is gone.
pub(crate) async fn main(arguments: &[String]) -> crate::Result<()> {
    let [generation, key, ttl_ms, clock, ports @ ..] = arguments else {
        return Err("an argument is missing".into());
    };
    let generation = generations::ALL[generation.parse::<usize>()?];
    let attempt = Attempt {
        key: key.clone(),
        ttl_ms: ttl_ms.parse()?,
        clock: clock.parse().ok(),
        server: url(&ports[0]),
    };
    let _redlock = if generation.setup == Setup::Three {
        let restart_check = match generation.code {
            Code::Unchecked => RestartCheck::Off,
            _ => RestartCheck::Standard,
        };
        // A slow machine is none of the faults.
        let config = Config::new().node_timeout(Duration::from_secs(20));
        let nodes = ports.iter().zip(["A", "B", "C"]);
        let config = nodes.fold(config, |config, (port, name)| config.pool(name, url(port)));
        Some(redlock_runtime::init(config.restart_check(restart_check)).await?)
    } else {
        None
    };
    let mut at = "before its attempt".to_owned();
    // The library's tasks release meanwhile what the last attempt left.
    while wait_at(&at).await.is_ok() {
        let outcome = generation.run(&attempt).await;
        // An error of a server may have several lines.
        at = outcome.map_or_else(|why| why.replace('\n', " "), |()| "done".to_owned());
    }
    Ok(())
}

pub(crate) fn wall_clock_ms() -> u64 {
    let since = UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Says where the caller is, and blocks its thread until a word comes.
fn stop_at(place: &str) -> Result<String, String> {
    println!("{place}");
    next_word()
}

/// Says where the caller is, and waits for a word in an await.
async fn wait_at(place: &str) -> Result<String, String> {
    println!("{place}");
    let word = spawn_blocking(next_word).await;
    word.map_err(|error| error.to_string())?
}

fn next_word() -> Result<String, String> {
    let mut word = String::new();
    match io::stdin().read_line(&mut word) {
        Ok(1..) => Ok(word.trim_end().to_owned()),
        _ => Err("the directing process is gone".to_owned()),
    }
}
