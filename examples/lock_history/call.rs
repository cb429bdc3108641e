//! One caller in a process of its own: it tries to lock when it is told to, and stops wherever it is
//! told to stop.

use std::error::Error;
use std::io::{self, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::{Cmd, Connection, FromRedisValue, RedisError};
use redlock_runtime::Config;

use crate::generations::Generation;
use crate::report::{End, Report};
use crate::servers::Layout;
use crate::shared::tied;

/// The hidden sub-command: `caller <generation> <url>`. The url is empty if the environment
/// configures the nodes.
pub(crate) const COMMAND: &str = "caller";

/// An attempt that came to its end.
#[derive(Debug)]
pub(crate) enum Ended {
    Done,
    Refused,
}

/// An attempt that did not.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed,
    Fenced,
    Down(String),
    Lost(String),
}

impl From<RedisError> for Stop {
    fn from(error: RedisError) -> Self {
        Self::Down(error.to_string())
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Down(error.to_string())
    }
}

/// One attempt, as the implementations see it.
pub(crate) struct Call {
    server: Option<Connection>,
    key: String,
    ttl: Duration,
    /// What this host's clock says, if it is not to go on.
    frozen_ms: Option<u64>,
    clock_reads: u32,
    stops_at_commands: bool,
}

impl Call {
    pub(crate) fn key(&self) -> String {
        self.key.clone()
    }

    pub(crate) fn ttl(&self) -> Duration {
        self.ttl
    }

    pub(crate) fn ttl_ms(&self) -> u64 {
        u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX)
    }

    /// What this host's clock says.
    pub(crate) fn now_ms(&mut self) -> u64 {
        self.clock_reads += 1;
        self.frozen_ms.unwrap_or_else(wall_clock_ms)
    }

    /// Sends one command to the server. It is a place to stop at.
    pub(crate) fn send<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, Stop> {
        if self.stops_at_commands {
            let name = command.args_iter().next().map(|name| match name {
                redis::Arg::Simple(name) => String::from_utf8_lossy(name).into_owned(),
                _ => String::new(),
            });
            say(&Report::Before(name.unwrap_or_default()))?;
            hear()?;
        }
        let server = self.server.as_mut();
        let server = server.ok_or_else(|| Stop::Down("no connection".into()))?;
        Ok(command.query(server)?)
    }

    /// What is done under the lock.
    pub(crate) async fn body(&self, token: Option<u64>) -> Result<(), Stop> {
        body(token, self.clock_reads).await
    }
}

/// Waits for a word at an await, as often as it is looked at. Then it writes, ends or fails.
pub(crate) async fn body(token: Option<u64>, clock_reads: u32) -> Result<(), Stop> {
    let token = token.unwrap_or(0);
    let inside = Report::Inside { token, clock_reads };
    loop {
        say(&inside)?;
        let word = tokio::task::spawn_blocking(hear).await;
        let word = word.map_err(|error| Stop::Down(error.to_string()))??;
        match word.as_str() {
            "look" => {}
            "end" => return Ok(()),
            "fail" => return Err(Stop::Failed),
            "write" => return write(token),
            other => return Err(Stop::Down(format!("`{other}` is no word for a body"))),
        }
    }
}

/// There is no await in it. A library can do nothing from here on, whatever time it is.
fn write(token: u64) -> Result<(), Stop> {
    say(&Report::AboutToWrite)?;
    hear()?;
    say(&Report::Writes { token })?;
    match hear()?.as_str() {
        "taken" => Ok(()),
        _ => Err(Stop::Fenced),
    }
}

pub(crate) async fn main(
    mut arguments: impl Iterator<Item = String>,
) -> Result<(), Box<dyn Error>> {
    tied::end_with_parent()?;
    let mut next = || arguments.next().ok_or("an argument is missing");
    let (generation, url) = (next()?, next()?);
    let generation = Generation::from_argument(&generation).ok_or("no such generation")?;
    let _redlock = match generation.layout() {
        Layout::Three => Some(redlock_runtime::init(Config::load()?).await?),
        Layout::Single | Layout::Replicated => None,
    };
    say(&Report::Ready)?;
    loop {
        // What an attempt leaves behind is released meanwhile.
        let order = tokio::task::spawn_blocking(hear).await??;
        let end = match attempt(generation, &url, &order).await {
            Ok(Ended::Done) => End::Done,
            Ok(Ended::Refused) => End::Refused,
            Err(Stop::Failed) => End::Failed,
            Err(Stop::Fenced) => End::Fenced,
            Err(Stop::Down(why)) => End::Down(why),
            Err(Stop::Lost(why)) => End::Lost(why),
        };
        say(&Report::Ended(end))?;
    }
}

/// `<key> <ttl in ms> <clock in ms, or -> <whether to stop at commands>`
async fn attempt(generation: Generation, url: &str, order: &str) -> Result<Ended, Stop> {
    let words: Vec<_> = order.split(' ').collect();
    let [key, ttl, clock, stops] = words[..] else {
        return Err(Stop::Down(format!("no order: {order:?}")));
    };
    let number = |word: &str| word.parse::<u64>().ok();
    let mut call = Call {
        server: None,
        key: key.to_owned(),
        ttl: Duration::from_millis(number(ttl).unwrap_or_default()),
        frozen_ms: number(clock),
        clock_reads: 0,
        stops_at_commands: stops == "true",
    };
    if !url.is_empty() {
        call.server = Some(redis::Client::open(url)?.get_connection()?);
    }
    generation.run(&mut call).await
}

pub(crate) fn wall_clock_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

fn say(report: &Report) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{report}")?;
    stdout.flush()
}

/// The next word of the directing process. If there is none, that process is gone.
fn hear() -> io::Result<String> {
    let mut word = String::new();
    if io::stdin().read_line(&mut word)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(word.trim_end().to_owned())
}
