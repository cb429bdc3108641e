//! A program of this workspace as a process of its own.

use crate::cargo::{CHOSEN, cargo_build, profile_dir};
use crate::process::{NoLine, Process};
use parking_lot::Mutex;
use rustix::process::Signal;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::LazyLock;
use std::time::Duration;

/// The longest time until a service prints its ready line.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// The examples built so far. The lock is held during a build: each is built once.
static BUILT: LazyLock<Mutex<HashMap<String, PathBuf>>> = LazyLock::new(Mutex::default);

/// A running service. Dropping it kills the process.
///
/// ```no_run
/// # use redlock_tests::{Service, Signal, http_post};
/// # use std::time::Duration;
/// # async fn example() -> std::io::Result<()> {
/// let program = Service::build_example("axum_service").await;
/// let service = Service::spawn(program, [("LISTEN", "127.0.0.1:0")], "listening on ").await;
/// let (status, _body) = http_post(service.addr(), "/orders/42/charge").await?;
/// service.signal(Signal::TERM);
/// assert!(service.wait(Duration::from_secs(5)).await.success());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Service {
    process: Process,
    name: String,
    ready: String,
}

impl Service {
    /// Builds an example of the workspace, in the profile of this test, once a process. Returns the program's path.
    pub async fn build_example(name: &str) -> PathBuf {
        let name = name.to_owned();
        tokio::task::spawn_blocking(move || {
            let mut built = BUILT.lock();
            let path = built
                .entry(name)
                .or_insert_with_key(|name| build_example(name));
            path.clone()
        })
        .await
        .unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
    }

    /// Starts `program` with `envs` added to its environment; returns when it has written a line
    /// that begins with `ready_line_prefix`, such as `"listening on "`.
    pub async fn spawn<K: AsRef<OsStr>, V: AsRef<OsStr>>(
        program: impl AsRef<Path>,
        envs: impl IntoIterator<Item = (K, V)>,
        ready_line_prefix: &str,
    ) -> Self {
        Self::spawn_with_args(program, [""; 0], envs, ready_line_prefix).await
    }

    /// Starts `program` with arguments, as [`spawn`](Self::spawn) does.
    pub async fn spawn_with_args<K: AsRef<OsStr>, V: AsRef<OsStr>>(
        program: impl AsRef<Path>,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
        envs: impl IntoIterator<Item = (K, V)>,
        ready_line_prefix: &str,
    ) -> Self {
        let name = program.as_ref().display().to_string();
        let mut command = Command::new(program.as_ref());
        command.args(args).envs(envs);
        let process = Process::start(command)
            .unwrap_or_else(|error| panic!("cannot start `{name}`: {error}"));
        let mut service = Self {
            process,
            name,
            ready: String::new(),
        };
        let line = service
            .wait_for_line(ready_line_prefix, READY_TIMEOUT)
            .await;
        line[ready_line_prefix.len()..]
            .trim()
            .clone_into(&mut service.ready);
        service
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Returns the rest of the ready line after the prefix.
    pub fn ready(&self) -> &str {
        &self.ready
    }

    /// Returns the address in the ready line: the first word that is one, after an optional `http://`.
    pub fn addr(&self) -> SocketAddr {
        let mut words = self.ready.split_whitespace();
        words
            .find_map(|word| word.trim_start_matches("http://").parse().ok())
            .unwrap_or_else(|| panic!("no address in the ready line of {self}"))
    }

    /// Waits for a line that begins with `prefix` and returns it whole. A line written before
    /// counts. Panics when the process ends without one, or after `within`.
    pub async fn wait_for_line(&self, prefix: &str, within: Duration) -> String {
        let (process, wanted) = (self.process.clone(), prefix.to_owned());
        let waiting = tokio::task::spawn_blocking(move || {
            process.wait_for_line(within, |line| line.starts_with(&wanted))
        });
        match waiting.await.expect("waiting does not panic") {
            Ok(line) => line,
            Err(NoLine::Exited) => panic!("it ended without a line {prefix:?}: {self}"),
            Err(NoLine::TimedOut) => panic!("no line {prefix:?} within {within:?} from {self}"),
        }
    }

    /// Writes a line to the process, which reads its standard input.
    pub fn write_line(&self, line: &str) {
        self.process.write_line(line);
    }

    /// Sends a signal; nothing happens when the process has already ended.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Stops the process (`SIGSTOP`); returns when it has stopped.
    pub fn freeze(&self) {
        self.process.freeze();
    }

    /// Lets a frozen process go on (`SIGCONT`).
    pub fn thaw(&self) {
        self.process.thaw();
    }

    /// Kills the process (`SIGKILL`) and reaps it.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// True if the process exists.
    pub fn is_running(&self) -> bool {
        self.process.is_running()
    }

    /// Waits for the process to end; panics after `within`. [`output`](Self::output) is complete then.
    pub async fn wait(&self, within: Duration) -> ExitStatus {
        let process = self.process.clone();
        let waiting = tokio::task::spawn_blocking(move || process.wait(within));
        waiting
            .await
            .expect("waiting does not panic")
            .unwrap_or_else(|| panic!("still running after {within:?}: {self}"))
    }

    /// Returns the output of the process so far, of both streams.
    pub fn output(&self) -> String {
        self.process.output()
    }
}

impl std::fmt::Display for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`, which said:\n{}", self.name, self.output())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.process.kill();
    }
}

fn build_example(name: &str) -> PathBuf {
    let features = if name == "fenced_write" {
        "redlock-examples/sqlite"
    } else {
        ""
    };
    let built = cargo_build()
        .arg("--locked")
        .args(CHOSEN)
        .args(["--example", name, "--features", features])
        .output()
        .expect("cargo can be started");
    let errors = String::from_utf8_lossy(&built.stderr);
    assert!(
        built.status.success(),
        "example `{name}` does not build:\n{errors}"
    );
    profile_dir().join("examples").join(name)
}
