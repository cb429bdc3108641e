//! A holder that this process starts, freezes, and takes along when it ends.

use std::error::Error;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::report::{GO, Report};

/// Far more than a holder needs: a ttl, and a program's start.
const LONG: Duration = Duration::from_secs(30);

/// A process that runs `holder.rs`.
pub(crate) struct Holder {
    name: &'static str,
    child: Child,
    pid: Pid,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Holder {
    /// Its errors go to our stderr.
    pub(crate) fn start(name: &'static str, mut command: Command) -> Result<Self, Box<dyn Error>> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(Self {
            name,
            pid: pid.ok_or("a child has no process id")?,
            stdin: child.stdin.take().ok_or("stdin is piped")?,
            stdout: BufReader::new(child.stdout.take().ok_or("stdout is piped")?).lines(),
            child,
        })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// What it says next.
    pub(crate) async fn report(&mut self) -> Result<Report, Box<dyn Error>> {
        let name = self.name;
        let line = timeout(LONG, self.stdout.next_line())
            .await
            .map_err(|_| format!("{name} has said nothing for {} s", LONG.as_secs()))??;
        let line = line.ok_or_else(|| format!("{name} ended before the scene did"))?;
        Ok(line.parse()?)
    }

    /// Lets it write.
    pub(crate) async fn go(&mut self) -> io::Result<()> {
        self.stdin.write_all(format!("{GO}\n").as_bytes()).await
    }

    /// SIGSTOP to all of its threads. Returns once it *has* stopped: a signal is delivered a moment
    /// after it is sent.
    pub(crate) fn freeze(&self) -> Result<(), Box<dyn Error>> {
        kill_process(self.pid, Signal::STOP)?;
        // The end, if it should be that, stays with the kernel (`NOWAIT`), so that the id stays ours.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.pid), options)?;
        if status.is_some_and(|status| status.stopped()) {
            Ok(())
        } else {
            Err(format!("{} ended before it could be frozen", self.name).into())
        }
    }

    /// SIGCONT.
    pub(crate) fn thaw(&self) -> Result<(), Box<dyn Error>> {
        // Nobody has waited for the child, so that the id is its own, alive or not.
        Ok(kill_process(self.pid, Signal::CONT)?)
    }

    /// Waits for its end, which has to be a good one.
    pub(crate) async fn end(mut self) -> Result<(), Box<dyn Error>> {
        let status = timeout(LONG, self.child.wait()).await??;
        if status.success() {
            Ok(())
        } else {
            Err(format!("{} failed: {status}", self.name).into())
        }
    }
}
