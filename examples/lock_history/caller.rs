//! A caller's process, as the process sees it that directs the faults.

use std::error::Error;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use crate::report::{End, Report};
use crate::servers::{LONG, LOOK};

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attempt {
    In,
    Refused,
    Down(String),
}

/// How an attempt is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    pub(crate) key: &'a str,
    pub(crate) ttl: Duration,
    /// What the caller's clock says, in ms, if it does not go on.
    pub(crate) clock: Option<u64>,
}

/// Dropping it kills the process.
pub(crate) struct Caller {
    pub(crate) name: &'static str,
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Caller {
    /// Returns when it is ready to try. Its errors go to our stderr.
    pub(crate) async fn start(
        name: &'static str,
        mut command: Command,
    ) -> Result<Self, Box<dyn Error>> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut caller = Self {
            name,
            stdin: child.stdin.take().ok_or("stdin is piped")?,
            stdout: BufReader::new(child.stdout.take().ok_or("stdout is piped")?).lines(),
            child,
        };
        match caller.report().await? {
            Report::Ready => Ok(caller),
            other => Err(format!("{name} begins with `{other}`").into()),
        }
    }

    /// What it says next.
    pub(crate) async fn report(&mut self) -> Result<Report, Box<dyn Error>> {
        let name = self.name;
        let line = timeout(LONG, self.stdout.next_line())
            .await
            .map_err(|_| format!("{name} has said nothing for {} s", LONG.as_secs()))??;
        let line = line.ok_or_else(|| format!("{name} ended before its scene did"))?;
        Ok(line.parse()?)
    }

    pub(crate) async fn tell(&mut self, word: &str) -> Result<(), Box<dyn Error>> {
        Ok(self.stdin.write_all(format!("{word}\n").as_bytes()).await?)
    }

    /// Begins an attempt that stops before each command. Returns its first stop.
    pub(crate) async fn begin(&mut self, order: Order<'_>) -> Result<Report, Box<dyn Error>> {
        self.send(order, true).await?;
        self.report().await
    }

    /// From one stop to the next one.
    pub(crate) async fn go(&mut self, from: &Report) -> Result<Report, Box<dyn Error>> {
        let word = match from {
            Report::Inside { .. } => "end",
            _ => "go",
        };
        self.tell(word).await?;
        self.report().await
    }

    /// One attempt, up to its body or its end.
    pub(crate) async fn attempt(&mut self, order: Order<'_>) -> Result<Attempt, Box<dyn Error>> {
        self.send(order, false).await?;
        let report = self.report().await?;
        self.came_to(report)
    }

    /// One attempt, by which the servers have to be asked. True if it is in.
    pub(crate) async fn gets_in(&mut self, order: Order<'_>) -> Result<bool, Box<dyn Error>> {
        match self.attempt(order).await? {
            Attempt::In => Ok(true),
            Attempt::Refused => Ok(false),
            Attempt::Down(why) => Err(format!("{} could not try: {why}", self.name).into()),
        }
    }

    /// Goes on from a stop, up to the body or the end.
    pub(crate) async fn go_on(&mut self, mut at: Report) -> Result<Attempt, Box<dyn Error>> {
        while matches!(at, Report::Before(_)) {
            at = self.go(&at).await?;
        }
        self.came_to(at)
    }

    /// Tries until it is in.
    pub(crate) async fn enter(&mut self, order: Order<'_>) -> Result<(), Box<dyn Error>> {
        let name = self.name;
        let entered = async {
            while self.attempt(order).await? != Attempt::In {
                sleep(LOOK).await;
            }
            Ok(())
        };
        let entered = timeout(LONG, entered).await;
        entered.map_err(|_| format!("{name} did not get in within {} s", LONG.as_secs()))?
    }

    /// Whether its body, in which it was, still runs.
    pub(crate) async fn is_inside(&mut self) -> Result<bool, Box<dyn Error>> {
        self.tell("look").await?;
        Ok(matches!(self.report().await?, Report::Inside { .. }))
    }

    /// Goes on from a stop behind the body, up to the end of the attempt.
    pub(crate) async fn go_on_to_end(&mut self, mut at: Report) -> Result<(), Box<dyn Error>> {
        while matches!(at, Report::Before(_)) {
            at = self.go(&at).await?;
        }
        Ok(())
    }

    /// Lets the body end, and waits until the attempt has ended too.
    pub(crate) async fn end(&mut self) -> Result<End, Box<dyn Error>> {
        self.finish("end").await
    }

    pub(crate) async fn finish(&mut self, word: &str) -> Result<End, Box<dyn Error>> {
        self.tell(word).await?;
        loop {
            match self.report().await? {
                Report::Ended(end) => return Ok(end),
                Report::Before(_) => self.tell("go").await?,
                other => return Err(format!("{} was to end: `{other}`", self.name).into()),
            }
        }
    }

    /// SIGKILL, as a crash is: nothing of it runs any more.
    pub(crate) async fn kill(mut self) -> Result<(), Box<dyn Error>> {
        Ok(self.child.kill().await?)
    }

    async fn send(&mut self, order: Order<'_>, stops: bool) -> Result<(), Box<dyn Error>> {
        let Order { key, ttl, clock } = order;
        let clock = clock.map_or_else(|| "-".to_owned(), |ms| ms.to_string());
        self.tell(&format!("{key} {} {clock} {stops}", ttl.as_millis()))
            .await
    }

    fn came_to(&self, report: Report) -> Result<Attempt, Box<dyn Error>> {
        match report {
            Report::Inside { .. } => Ok(Attempt::In),
            Report::Ended(End::Refused) => Ok(Attempt::Refused),
            // A short ttl may be over before the body begins.
            Report::Ended(End::Down(why) | End::Lost(why)) => Ok(Attempt::Down(why)),
            other => Err(format!("{} was to try: `{other}`", self.name).into()),
        }
    }
}
