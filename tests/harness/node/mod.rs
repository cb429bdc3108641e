//! One `redis-server` process.

mod binary;
mod clock;
mod inspect;
mod options;

pub use inspect::Pttl;
pub use options::NodeOptions;

use self::clock::MovableClock;
use crate::eventually::eventually;
use crate::ports;
use crate::process::{NoLine, Process};
use crate::temp_dir::TempDir;
use parking_lot::{Mutex, MutexGuard};
use rustix::process::Signal;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The longest time that a server may take to start or to shut down.
const START_STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// The interval at which Valkey 9.0 and later read the wall clock. In between, they use the processor's clock.
const LOOKS_EVERY: Duration = Duration::from_millis(1);

/// The number of ports to try before giving up.
const PORT_ATTEMPTS: usize = 50;

/// One real `redis-server` on a loopback port of its own, with a directory of its own.
///
/// Dropping it kills the process, frozen or not, and removes the directory. A test process that is
/// itself killed takes its servers along.
///
/// The methods that look at keys use a plain connection each time, with a timeout, and panic when
/// the node does not answer; [`try_command`](Self::try_command) returns the error instead.
#[derive(Debug)]
pub struct RedisNode {
    options: NodeOptions,
    port: u16,
    process: Mutex<Process>,
    frozen: AtomicBool,
    clock: Option<Mutex<MovableClock>>,
    dir: TempDir,
}

impl RedisNode {
    /// Starts a server without persistence or password.
    pub async fn start() -> Self {
        Self::start_with(NodeOptions::default()).await
    }

    /// Starts a server with `options`; returns when it accepts connections.
    pub async fn start_with(options: NodeOptions) -> Self {
        tokio::task::spawn_blocking(|| Self::start_blocking(options))
            .await
            .unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
    }

    /// Starts a server with `options`, for a caller without a tokio runtime.
    pub fn start_blocking(mut options: NodeOptions) -> Self {
        let dir = TempDir::new();
        let clock = options
            .movable_clock
            .then(|| Mutex::new(MovableClock::new(dir.path())));
        for _ in 0..PORT_ATTEMPTS {
            let port = options.port.unwrap_or_else(ports::next);
            match launch(&options, port, dir.path()) {
                Ok(process) => {
                    return Self {
                        options,
                        port,
                        process: Mutex::new(process),
                        frozen: AtomicBool::new(false),
                        clock,
                        dir,
                    };
                }
                Err(LaunchError::PortTaken) => options = options.with_another_bus_port(),
                Err(LaunchError::Failed(why)) => panic!("{why}"),
            }
        }
        panic!("no free port for a redis-server in {PORT_ATTEMPTS} attempts");
    }

    /// `redis://127.0.0.1:PORT` or `rediss://…`, with the password if there is one.
    pub fn url(&self) -> String {
        self.url_at(self.addr())
    }

    /// Returns the URL that reaches this node through another address, such as a proxy's.
    pub(crate) fn url_at(&self, addr: SocketAddr) -> String {
        let scheme = match self.options.tls {
            Some(_) => "rediss",
            None => "redis",
        };
        match &self.options.password {
            Some(password) => format!("{scheme}://:{password}@{addr}"),
            None => format!("{scheme}://{addr}"),
        }
    }

    /// `redis+unix:///…`, for a node started with [`NodeOptions::unix_socket`].
    pub fn unix_url(&self) -> String {
        assert!(
            self.options.has_socket(),
            "the node was started without `unix_socket()`"
        );
        let socket = options::socket_path(self.dir.path());
        match &self.options.password {
            Some(password) => format!("redis+unix://{}?pass={password}", socket.display()),
            None => format!("redis+unix://{}", socket.display()),
        }
    }

    /// Returns the address that the server listens on, the first one if there are several.
    pub fn addr(&self) -> SocketAddr {
        (self.options.bound()[0], self.port).into()
    }

    /// Returns the port that the server listens on, also after a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the process id; another one after a restart.
    pub fn pid(&self) -> u32 {
        self.process().pid()
    }

    /// Returns the server's working directory, removed with the node.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Stops the process (`SIGSTOP`): connections are still accepted, nothing is ever answered.
    /// Returns when the process has stopped.
    pub fn freeze(&self) {
        self.process().freeze();
        self.frozen.store(true, Ordering::SeqCst);
    }

    /// Lets a frozen process continue (`SIGCONT`). It then answers the commands that arrived while it was frozen.
    pub fn thaw(&self) {
        self.frozen.store(false, Ordering::SeqCst);
        self.process().thaw();
    }

    /// Kills the process (`SIGKILL`) and reaps it: from here on connections are refused.
    pub fn kill(&self) {
        self.process().kill();
        self.frozen.store(false, Ordering::SeqCst);
    }

    /// Shuts the server down in an orderly way (`SIGTERM`) and reaps it.
    pub async fn stop(&self) {
        self.thaw();
        let process = self.process().clone();
        process.signal(Signal::TERM);
        let (process, status) = tokio::task::spawn_blocking(move || {
            let status = process.wait(START_STOP_TIMEOUT);
            (process, status)
        })
        .await
        .expect("waiting does not panic");
        assert!(
            status.is_some(),
            "redis-server on port {} ignored SIGTERM:\n{}",
            self.port,
            process.output()
        );
    }

    /// Starts the server again on the same port, in the same directory, with the same options.
    /// A node that still runs is killed first.
    ///
    /// It comes back empty, unless it was started with [`NodeOptions::append_only`].
    pub async fn restart(&self) {
        self.kill();
        let (options, port) = (self.options.clone(), self.port);
        let dir = self.dir.path().to_owned();
        // The port is reserved among tests, but an outgoing connection of another program may occupy it for a while.
        // Some kernels are configured to take the ports of such connections from the whole range.
        let process = eventually("the node's own port", START_STOP_TIMEOUT, || {
            let (options, dir) = (options.clone(), dir.clone());
            async move {
                let launched = tokio::task::spawn_blocking(move || launch(&options, port, &dir));
                match launched.await {
                    Ok(Ok(process)) => Ok(process),
                    Ok(Err(LaunchError::PortTaken)) => Err(format!(
                        "another process took port {port} while the node was down"
                    )),
                    Ok(Err(LaunchError::Failed(why))) => panic!("{why}"),
                    Err(failed) => std::panic::resume_unwind(failed.into_panic()),
                }
            }
        })
        .await;
        *self.process() = process;
    }

    /// Lets the server's wall clock jump ahead, as when an operator or a bad NTP peer sets it. Its
    /// keys expire so much earlier. Needs [`NodeOptions::movable_clock`]; a restart changes nothing.
    pub fn advance_clock(&self, by: Duration) {
        self.jump_clock(micros(by));
    }

    /// Sets the server's wall clock back. Its keys expire so much later.
    pub fn set_back_clock(&self, by: Duration) {
        self.jump_clock(-micros(by));
    }

    fn jump_clock(&self, micros: i64) {
        self.clock().jump(micros);
        // Wait until the server has read the clock again, so that the next command sees the new time.
        std::thread::sleep(LOOKS_EVERY * 2);
    }

    fn clock(&self) -> MutexGuard<'_, MovableClock> {
        let clock = self.clock.as_ref();
        let clock = clock.expect("the node was started with `movable_clock()`");
        clock.lock()
    }

    /// True if the process exists, even if it is frozen.
    pub fn is_running(&self) -> bool {
        self.process().is_running()
    }

    /// True if the process runs and was not frozen by [`freeze`](Self::freeze).
    pub fn is_reachable(&self) -> bool {
        self.is_running() && !self.frozen.load(Ordering::SeqCst)
    }

    /// Returns the log of the server since its last start.
    pub fn log(&self) -> String {
        self.process().output()
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock()
    }
}

impl Drop for RedisNode {
    fn drop(&mut self) {
        self.process().kill();
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).expect("a clock is moved by less than its range")
}

enum LaunchError {
    PortTaken,
    Failed(String),
}

/// Starts a server, and waits until its output says that it is ready. A connection attempt would not
/// show that: it also succeeds if another process has the port.
fn launch(options: &NodeOptions, port: u16, dir: &Path) -> Result<Process, LaunchError> {
    let binary = binary::redis_server();
    let mut command = Command::new(binary);
    command.args(options.command_line(port, dir));
    if options.movable_clock {
        clock::preload(&mut command, dir);
    }
    let process = Process::start(command)
        .map_err(|error| LaunchError::Failed(format!("cannot start `{binary}`: {error}")))?;
    let ready = process.wait_for_line(START_STOP_TIMEOUT, |line| {
        line.contains(options.ready_line())
    });
    let Err(reason) = ready else {
        return Ok(process);
    };
    process.kill();
    let log = process.output();
    if log.contains("Address already in use") {
        return Err(LaunchError::PortTaken);
    }
    let what = match reason {
        NoLine::Exited => "ended before it was ready",
        NoLine::TimedOut => "did not become ready in time",
    };
    Err(LaunchError::Failed(format!(
        "`{binary}` on port {port} {what}; it said:\n{log}"
    )))
}
