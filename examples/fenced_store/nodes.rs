//! The Redis nodes: those that are configured, or three of our own.

use std::error::Error;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout;

use crate::process;

/// How long a server may take to be ready.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// A port that was free a moment ago may not be any more.
const PORTS_TRIED: usize = 20;

/// Dropping it kills the servers that are ours.
pub(crate) enum Nodes {
    Configured,
    Ours(Vec<Server>),
}

pub(crate) struct Server {
    pool: &'static str,
    port: u16,
    child: Child,
    /// Kept open, though nothing is read any more: the server writes a few lines to it.
    log: Lines<BufReader<ChildStdout>>,
}

impl Nodes {
    pub(crate) async fn choose(dir: &Path) -> Result<Self, Box<dyn Error>> {
        if is_configured() {
            return Ok(Self::Configured);
        }
        let program = redis_server()?;
        let mut servers = Vec::new();
        for pool in ["a", "b", "c"] {
            servers.push(Server::start(pool, &program, dir).await?);
        }
        Ok(Self::Ours(servers))
    }

    /// What tells a child's `Config::load()` about nodes that it could not know of otherwise.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let servers = self.ours().iter().map(|server| {
            let name = format!("REDLOCK_POOLS_{}_URL", server.pool.to_ascii_uppercase());
            (name, format!("redis://127.0.0.1:{}", server.port))
        });
        servers.collect()
    }

    pub(crate) fn describe(&self) -> String {
        let servers = self.ours().iter().map(|server| {
            let pid = server.child.id().unwrap_or_default();
            format!("{} on port {} (pid {pid})", server.pool, server.port)
        });
        match self {
            Self::Configured => "as configured".into(),
            Self::Ours(_) => format!(
                "{}; none are configured, so these are our own",
                servers.collect::<Vec<_>>().join(", ")
            ),
        }
    }

    /// Ends the servers that are ours, each by its own id, and waits until they are gone.
    pub(crate) async fn end(self) -> Result<(), Box<dyn Error>> {
        if let Self::Ours(servers) = self {
            for mut server in servers {
                server.child.kill().await?;
            }
        }
        Ok(())
    }

    fn ours(&self) -> &[Server] {
        match self {
            Self::Configured => &[],
            Self::Ours(servers) => servers,
        }
    }
}

impl Server {
    async fn start(pool: &'static str, program: &str, dir: &Path) -> Result<Self, Box<dyn Error>> {
        for _ in 0..PORTS_TRIED {
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let port = free.local_addr()?.port();
            drop(free);
            let mut server = Self::launch(pool, program, port, dir)?;
            let mut said = String::new();
            let ready = timeout(READY_WITHIN, server.until_ready(&mut said)).await;
            if ready.map_err(|_| format!("`{program}` is not ready; it said:\n{said}"))?? {
                return Ok(server);
            }
            if !said.contains("Address already in use") {
                return Err(format!("`{program}` ended at once; it said:\n{said}").into());
            }
        }
        Err(format!("found no free port for `{program}`").into())
    }

    fn launch(
        pool: &'static str,
        program: &str,
        port: u16,
        dir: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let mut child = process::myself(&[process::TIED_COMMAND, program])?
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--appendonly", "no", "--logfile", ""])
            .args(["--daemonize", "no", "--dir"])
            .arg(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().ok_or("stdout is piped")?;
        Ok(Self {
            pool,
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

/// Whether the places where `Config::load()` looks name a pool.
fn is_configured() -> bool {
    let is_pool = |name: &str| name.starts_with("REDLOCK_POOLS_") && name.ends_with("_URL");
    std::env::var_os("REDLOCK_CONFIG").is_some()
        || Path::new("redlock.toml").exists()
        || std::env::vars_os().any(|(name, _)| name.to_str().is_some_and(is_pool))
}

/// The program to start.
fn redis_server() -> Result<String, String> {
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
        "no pools are configured, and there is no `redis-server` on the PATH to start some; install \
         it (`apt-get install redis-server`, `dnf install redis`, `apk add redis`, `brew install \
         redis`), set REDIS_SERVER to its path, or configure pools in redlock.toml"
            .to_owned()
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
