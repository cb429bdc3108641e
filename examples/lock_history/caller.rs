//! A caller's process, as the process sees it that directs the faults.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use crate::servers::{LONG, LOOK};
use crate::{Result, attempt};

/// The lock that a caller wants.
pub(crate) struct Order {
    pub(crate) key: String,
    pub(crate) ttl: Duration,
    /// The time that the caller's clock shows, in ms, if it stands still.
    pub(crate) clock: Option<u64>,
}

impl Order {
    pub(crate) fn new(key: impl Into<String>, ttl: Duration) -> Self {
        let (key, clock) = (key.into(), None);
        Self { key, ttl, clock }
    }
}

/// Dropping it kills the process by SIGKILL, so nothing of it runs any more.
pub(crate) struct Caller {
    /// Its last line: where it stops, or how its attempt ended.
    pub(crate) at: String,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Caller {
    /// Starts a caller, which stops before its attempt.
    pub(crate) async fn start(generation: usize, order: &Order, ports: &[u16]) -> Result<Self> {
        let clock = order.clock.map_or("-".to_owned(), |ms| ms.to_string());
        let mut child = Command::new(std::env::current_exe()?)
            .args([attempt::COMMAND, &generation.to_string(), &order.key])
            .args([order.ttl.as_millis().to_string(), clock])
            .args(ports.iter().map(u16::to_string))
            .kill_on_drop(true)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut caller = Self {
            at: String::new(),
            stdin: child.stdin.take().ok_or("stdin is piped")?,
            stdout: BufReader::new(child.stdout.take().ok_or("stdout is piped")?).lines(),
            _child: child,
        };
        caller.hear().await?;
        Ok(caller)
    }

    async fn hear(&mut self) -> Result<()> {
        let line = timeout(LONG, self.stdout.next_line()).await??;
        self.at = line.ok_or_else(|| format!("a caller ended; it was at `{}`", self.at))?;
        Ok(())
    }

    /// Tells it a word, and waits until it stops again. True if its body runs then.
    pub(crate) async fn tell(&mut self, word: &str) -> Result<bool> {
        self.stdin.write_all(format!("{word}\n").as_bytes()).await?;
        self.hear().await?;
        Ok(self.is_inside())
    }

    pub(crate) fn is_inside(&self) -> bool {
        self.at == "inside"
    }

    /// True if it stops before a command.
    pub(crate) fn is_before(&self) -> bool {
        self.at.starts_with("before ")
    }

    /// True if its attempt has ended. At the next word it makes another one.
    pub(crate) fn has_ended(&self) -> bool {
        !self.is_before() && !self.is_inside()
    }

    /// Goes from one stop to the next one.
    pub(crate) async fn step(&mut self) -> Result<()> {
        let word = if self.is_inside() { "end" } else { "go" };
        self.tell(word).await.map(drop)
    }

    /// Passes this number of stops, but only as long as the caller is before a command.
    pub(crate) async fn pass(&mut self, stops: usize) -> Result<()> {
        for _ in 0..stops {
            if self.is_before() {
                self.step().await?;
            }
        }
        Ok(())
    }

    /// Goes on up to the body or the end of the attempt. True if it is in.
    pub(crate) async fn attempt(&mut self) -> Result<bool> {
        self.step().await?;
        while self.is_before() {
            self.step().await?;
        }
        Ok(self.is_inside())
    }

    /// Makes an attempt on servers that are up. True if it is in.
    pub(crate) async fn gets_in(&mut self) -> Result<bool> {
        let is_in = self.attempt().await?;
        if is_in || self.at == "refused" {
            return Ok(is_in);
        }
        Err(format!("an attempt ended as `{}`", self.at).into())
    }

    /// Tries until it is in.
    pub(crate) async fn enter(&mut self) -> Result<()> {
        while !self.attempt().await? {
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// Tells it a word, and goes on up to the end of its attempt.
    pub(crate) async fn finish(&mut self, word: &str) -> Result<()> {
        self.tell(word).await?;
        while self.is_before() {
            self.step().await?;
        }
        Ok(())
    }
}
