//! The servers of one scene: started, lost, restarted and failed over.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use redis::{Cmd, FromRedisValue, InfoDict, cmd};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::sleep;

use crate::Result;
use crate::generations::Setup;

/// The hidden command: `server <arguments>` becomes a `redis-server`.
pub(crate) const COMMAND: &str = "server";

/// Nothing listens there.
pub(crate) const NOWHERE: u16 = 1;

/// The longest wait for what must come.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// The pause between two looks at a process.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

pub(crate) fn url(port: impl std::fmt::Display) -> String {
    format!("redis://127.0.0.1:{port}")
}

/// Turns this process into a server that ends with its parent, even if the parent is killed.
pub(crate) fn become_server(arguments: &[String]) -> Result<()> {
    let program = std::env::var("REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned());
    let mut server = std::process::Command::new(program);
    server.args(arguments);
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    #[cfg(unix)]
    let error = std::os::unix::process::CommandExt::exec(&mut server);
    #[cfg(not(unix))]
    let error = "this example starts servers as a Unix does";
    Err(error.into())
}

/// Dropping it kills the server.
pub(crate) struct Server {
    port: u16,
    home: PathBuf,
    child: Child,
    /// Stays open, because the server goes on writing to it.
    _log: Lines<BufReader<ChildStdout>>,
}

impl Server {
    /// Starts a server on a free port, with a folder of its own.
    async fn start(home: &Path) -> Result<Self> {
        // A port that was free a moment ago may be taken.
        for _ in 0..3 {
            let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            let home = home.join(port.to_string());
            make_empty(&home)?;
            if let Ok(server) = Self::launch(port, home).await {
                return Ok(server);
            }
        }
        Err("`redis-server` does not start; install Redis, or set REDIS_SERVER to its path".into())
    }

    async fn launch(port: u16, home: PathBuf) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([COMMAND, "--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--appendonly", "yes", "--appendfsync", "always"])
            // While a script runs for longer than this, the server answers that it is busy.
            .args(["--lua-time-limit", "50", "--repl-diskless-sync-delay", "0"])
            .args([Path::new("--dir"), &home])
            .kill_on_drop(true)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // Without the program, each server of each scene would print the same error.
            .stderr(Stdio::null())
            .spawn()?;
        let mut log = BufReader::new(child.stdout.take().ok_or("stdout is piped")?).lines();
        // It says so itself, because another process at its port would accept connections too.
        while let Some(line) = log.next_line().await? {
            if line.contains("Ready to accept connections") {
                return Ok(Self {
                    port,
                    home,
                    child,
                    _log: log,
                });
            }
        }
        Err("the server ended".into())
    }

    fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        Ok(command.query(&mut redis::Client::open(url(self.port))?.get_connection()?)?)
    }

    fn replicate(&self, host: &str, port: impl std::fmt::Display) -> Result<()> {
        self.ask(cmd("REPLICAOF").arg(host).arg(port.to_string()))
    }
}

/// The servers that callers ask. The faults are about the first node.
pub(crate) struct Servers {
    nodes: Vec<Server>,
    /// The replica of the first node.
    pub(crate) replica: Option<Server>,
}

impl Servers {
    pub(crate) async fn start(setup: Setup, home: &Path) -> Result<Self> {
        let mut nodes = Vec::new();
        let count = if setup == Setup::Three { 3 } else { 1 };
        for _ in 0..count {
            nodes.push(Server::start(home).await?);
        }
        let replica = None;
        Ok(Self { nodes, replica })
    }

    pub(crate) fn ports(&self) -> Vec<u16> {
        self.nodes.iter().map(|node| node.port).collect()
    }

    /// Asks the first node.
    pub(crate) fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        self.nodes[0].ask(command)
    }

    /// Returns the time by the first node's clock, in ms.
    pub(crate) fn now_ms(&self) -> Result<u64> {
        let (seconds, micros): (u64, u64) = self.ask(&cmd("TIME"))?;
        Ok(seconds * 1_000 + micros / 1_000)
    }

    /// Lets time pass until the first node's clock shows more than `ms`.
    pub(crate) async fn pass(&self, ms: u64) -> Result<()> {
        while self.now_ms()? <= ms {
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// Returns the first node's value at `key`.
    pub(crate) fn value(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.ask(cmd("GET").arg(key))
    }

    /// Kills one node for good: the last one.
    pub(crate) async fn lose_one(&mut self) -> Result<()> {
        let last = self.nodes.len() - 1;
        Ok(self.nodes[last].child.kill().await?)
    }

    /// Kills the first node, and starts it again without its data.
    pub(crate) async fn restart_empty(&mut self) -> Result<()> {
        self.nodes[0].child.kill().await?;
        make_empty(&self.nodes[0].home)?;
        self.restart().await
    }

    /// Kills the first node, and starts it again with its append-only file.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        let node = &mut self.nodes[0];
        node.child.kill().await?;
        *node = Server::launch(node.port, node.home.clone()).await?;
        Ok(())
    }

    /// Gives the first node a replica.
    pub(crate) async fn add_replica(&mut self, home: &Path) -> Result<()> {
        let replica = Server::start(home).await?;
        replica.replicate("127.0.0.1", self.nodes[0].port)?;
        self.replica = Some(replica);
        self.until_replicated().await
    }

    /// Lets the replica learn nothing more, because its link leads nowhere.
    pub(crate) async fn cut_replica_off(&mut self) -> Result<()> {
        self.until_replicated().await?;
        self.replica()?.replicate("127.0.0.1", NOWHERE)
    }

    /// Kills the first node, whose replica takes its place.
    pub(crate) async fn fail_over(&mut self) -> Result<()> {
        self.nodes[0].child.kill().await?;
        self.replica()?.replicate("NO", "ONE")?;
        self.nodes[0] = self.replica.take().ok_or("there is no replica")?;
        Ok(())
    }

    /// Waits until the replica has all that its master has.
    pub(crate) async fn until_replicated(&self) -> Result<()> {
        loop {
            let of_master: InfoDict = self.ask(&cmd("INFO"))?;
            let of_replica: InfoDict = self.replica()?.ask(&cmd("INFO"))?;
            let offset: Option<u64> = of_master.get("master_repl_offset");
            let is_linked = of_replica.get("master_link_status") == Some("up".to_owned());
            if is_linked && of_replica.get("slave_repl_offset") == offset {
                return Ok(());
            }
            sleep(LOOK).await;
        }
    }

    fn replica(&self) -> Result<&Server> {
        Ok(self.replica.as_ref().ok_or("there is no replica")?)
    }
}

fn make_empty(folder: &Path) -> Result<()> {
    // A server that had the same port may have left its data.
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(std::fs::create_dir(folder)?)
}
