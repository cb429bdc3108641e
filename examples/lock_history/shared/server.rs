//! A `redis-server` that an example starts and ends.

use std::error::Error;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout;

use super::tied;

/// How long a server may take to be ready.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// A port that was free a moment ago may not be any more.
const PORTS_TRIED: usize = 20;

/// Dropping it kills the server.
pub(crate) struct Server {
    port: u16,
    child: Child,
    /// Kept open, though nothing is read any more: the server writes a few lines to it.
    log: Lines<BufReader<ChildStdout>>,
}

impl Server {
    /// Starts `program` on a free port, without persistence.
    pub(crate) async fn start(program: &str, dir: &Path) -> Result<Self, Box<dyn Error>> {
        for _ in 0..PORTS_TRIED {
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let port = free.local_addr()?.port();
            drop(free);
            let mut said = String::new();
            if let Some(server) = Self::start_at(port, program, dir, &mut said).await? {
                return Ok(server);
            }
            if !said.contains("Address already in use") {
                return Err(format!("`{program}` ended at once; it said:\n{said}").into());
            }
        }
        Err(format!("found no free port for `{program}`").into())
    }

    /// `None` if the server ended at once; `said` is what it said.
    pub(crate) async fn start_at(
        port: u16,
        program: &str,
        dir: &Path,
        said: &mut String,
    ) -> Result<Option<Self>, Box<dyn Error>> {
        let mut server = Self::launch(port, program, dir)?;
        let ready = timeout(READY_WITHIN, server.until_ready(said)).await;
        let is_ready =
            ready.map_err(|_| format!("`{program}` is not ready; it said:\n{said}"))??;
        Ok(is_ready.then_some(server))
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Kills it, and waits until it is gone.
    pub(crate) async fn kill(&mut self) -> Result<(), Box<dyn Error>> {
        Ok(self.child.kill().await?)
    }

    fn launch(port: u16, program: &str, dir: &Path) -> Result<Self, Box<dyn Error>> {
        let mut child = tied::myself(&[tied::TIED_COMMAND, program])?
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--appendonly", "no", "--logfile", ""])
            .args(["--daemonize", "no", "--dir"])
            .arg(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().ok_or("stdout is piped")?;
        Ok(Self {
            port,
            child,
            log: BufReader::new(stdout).lines(),
        })
    }

    /// Waits until the server's output says that it is ready. A connection would not show that:
    /// another process with the port would accept it too. `false` if the server ended instead.
    async fn until_ready(&mut self, said: &mut String) -> Result<bool, Box<dyn Error>> {
        while let Some(line) = self.log.next_line().await? {
            if line.contains("Ready to accept connections") {
                return Ok(true);
            }
            said.push_str(&line);
            said.push('\n');
        }
        Ok(false)
    }
}

/// The program to start: `REDIS_SERVER`, or what is on the PATH. `otherwise` ends the advice that a
/// missing one is answered with.
pub(crate) fn redis_server(otherwise: &str) -> Result<String, String> {
    if let Ok(chosen) = std::env::var("REDIS_SERVER") {
        return if runs(&chosen) {
            Ok(chosen)
        } else {
            Err(format!(
                "REDIS_SERVER is `{chosen}`, which does not run; give the path of a redis-server"
            ))
        };
    }
    let names = ["redis-server", "valkey-server"];
    let found = names.into_iter().find(|name| runs(name));
    found.map(str::to_owned).ok_or_else(|| {
        format!(
            "there is no `redis-server` on the PATH to start; install it (`apt-get install \
             redis-server`, `dnf install redis`, `apk add redis`, `brew install redis`), or set \
             REDIS_SERVER to its path{otherwise}"
        )
    })
}

fn runs(program: &str) -> bool {
    std::process::Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
