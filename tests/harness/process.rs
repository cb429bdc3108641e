//! A child process: its output, its signals, its end.

use crate::spawner;
use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Lines of output kept for failure messages.
const KEPT_LINES: usize = 1000;

/// A handle to a running child. Cloning it gives another handle to the same child; the owner calls
/// [`kill`](Self::kill) when it is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pid: Pid,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Notified by the reader threads after each line and at the end of a stream, and by the
    /// reaper thread when the child has ended.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    child: Child,
    /// Set by the reaper thread, under the lock. While the status is `None`, the process id is still
    /// ours, so a signal cannot hit another process.
    status: Option<ExitStatus>,
    lines: VecDeque<String>,
    /// The number of lines that were dropped from the front of `lines`.
    forgotten: usize,
    open_streams: usize,
}

/// The reason why an awaited line did not arrive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoLine {
    Exited,
    TimedOut,
}

impl Process {
    pub(crate) fn start(mut command: Command) -> std::io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = spawner::spawn(&mut command)?;
        let pid = Pid::from_child(&child);
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                child,
                status: None,
                lines: VecDeque::new(),
                forgotten: 0,
                open_streams: 2,
            }),
            changed: Condvar::new(),
        });
        drain(stdout, &shared);
        drain(stderr, &shared);
        reap(pid, &shared);
        Ok(Self { pid, shared })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.shared.state.lock().status.is_none()
    }

    /// Sends a signal, unless the process has already ended.
    pub(crate) fn signal(&self, signal: Signal) {
        let state = self.shared.state.lock();
        if state.status.is_none() {
            kill_process(self.pid, signal).expect("a child that is not reaped takes signals");
        }
    }

    /// Writes a line to the process.
    pub(crate) fn write_line(&self, line: &str) {
        let mut state = self.shared.state.lock();
        let stdin = state.child.stdin.as_mut().expect("stdin is piped");
        writeln!(stdin, "{line}").expect("a process that reads");
    }

    /// Stops the process and returns once it *has* stopped: a signal is delivered a moment after
    /// it is sent, and until then the process would go on answering.
    pub(crate) fn freeze(&self) {
        self.signal(Signal::STOP);
        // The status stays with the kernel (`NOWAIT`): only the reaper thread takes it.
        let end = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(self.pid), end).is_err_and(|error| error == Errno::INTR) {}
    }

    pub(crate) fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Kills the process, also a stopped one, and returns once it is gone.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
        let mut state = self.shared.state.lock();
        while state.status.is_none() {
            self.shared.changed.wait(&mut state);
        }
    }

    /// Waits for the end of the process and of its output: what it wrote last is then in
    /// [`output`](Self::output). `None` when it still runs after `within`.
    pub(crate) fn wait(&self, within: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + within;
        let mut state = self.shared.state.lock();
        loop {
            let is_over = state.status.is_some() && state.open_streams == 0;
            if is_over || Instant::now() >= deadline {
                return state.status;
            }
            self.shared.changed.wait_until(&mut state, deadline);
        }
    }

    /// Waits for a line that `wanted` accepts. A line that was already written counts.
    pub(crate) fn wait_for_line(
        &self,
        within: Duration,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<String, NoLine> {
        let deadline = Instant::now() + within;
        let mut seen = 0_usize;
        let mut state = self.shared.state.lock();
        loop {
            let unseen = seen.saturating_sub(state.forgotten);
            if let Some(line) = state.lines.iter().skip(unseen).find(|line| wanted(line)) {
                return Ok(line.clone());
            }
            seen = state.forgotten + state.lines.len();
            if state.status.is_some() && state.open_streams == 0 {
                return Err(NoLine::Exited);
            }
            if Instant::now() >= deadline {
                return Err(NoLine::TimedOut);
            }
            self.shared.changed.wait_until(&mut state, deadline);
        }
    }

    /// Returns the output of the process so far, of both streams, for failure messages.
    pub(crate) fn output(&self) -> String {
        let state = self.shared.state.lock();
        let mut output = String::new();
        if state.forgotten > 0 {
            output = format!("({} earlier lines)\n", state.forgotten);
        }
        for line in &state.lines {
            output.push_str(line);
            output.push('\n');
        }
        output
    }
}

/// Reads a stream to its end, so that the child never blocks on a full pipe.
fn drain(stream: impl Read + Send + 'static, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut bytes = Vec::new();
        while stream.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
            let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            bytes.clear();
            let mut state = shared.state.lock();
            if state.lines.len() == KEPT_LINES {
                state.lines.pop_front();
                state.forgotten += 1;
            }
            state.lines.push_back(line);
            shared.changed.notify_all();
        }
        shared.state.lock().open_streams -= 1;
        shared.changed.notify_all();
    });
}

/// Waits for the end of the child and takes its status.
///
/// The wait itself leaves the child a zombie (`NOWAIT`). The child is reaped under the lock: while a
/// thread holds the lock and there is no status, the process id is not reused.
fn reap(pid: Pid, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        let end = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(pid), end).is_err_and(|error| error == Errno::INTR) {}
        let mut state = shared.state.lock();
        spawner::ended(&state.child);
        state.status = state.child.wait().ok();
        shared.changed.notify_all();
    });
}
