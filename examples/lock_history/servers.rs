//! The servers of one scene: started, lost, restarted and failed over.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use redis::{Connection, cmd};
use tokio::time::{Instant, sleep};

use crate::shared::server::Server;

/// Nothing listens there.
pub(crate) const NOWHERE: u16 = 1;

/// For what must come.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Between two looks at a server.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

/// Which servers an implementation is used with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Single,
    /// A master with a replica that takes its place.
    Replicated,
    /// Three servers that know nothing of each other.
    Three,
}

pub(crate) struct Servers {
    program: String,
    dir: PathBuf,
    /// The nodes that callers ask. Faults are about the first node.
    nodes: Vec<Server>,
    /// Of the first node.
    replica: Option<Server>,
}

impl Servers {
    pub(crate) async fn start(
        layout: Layout,
        is_replicated: bool,
        program: &str,
        dir: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let mut nodes = Vec::new();
        let count = if layout == Layout::Three { 3 } else { 1 };
        for _ in 0..count {
            nodes.push(Server::start(program, dir).await?);
        }
        let mut servers = Self {
            program: program.to_owned(),
            dir: dir.to_owned(),
            nodes,
            replica: None,
        };
        if is_replicated {
            servers.replicate().await?;
        }
        Ok(servers)
    }

    pub(crate) fn ports(&self) -> Vec<u16> {
        self.nodes.iter().map(Server::port).collect()
    }

    /// The time by the first node's clock, in ms.
    pub(crate) fn now_ms(&self) -> Result<u64, Box<dyn Error>> {
        let (seconds, micros): (u64, u64) = cmd("TIME").query(&mut connect(&self.nodes[0])?)?;
        Ok(seconds * 1_000 + micros / 1_000)
    }

    /// Lets time pass until the first node's clock shows more than `ms`.
    pub(crate) async fn pass(&self, ms: u64) -> Result<(), Box<dyn Error>> {
        while self.now_ms()? <= ms {
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// What the first node has at `key`.
    pub(crate) fn value(&self, key: &str) -> Result<Option<Vec<u8>>, Box<dyn Error>> {
        Ok(cmd("GET").arg(key).query(&mut connect(&self.nodes[0])?)?)
    }

    /// The ms until the first node's `key` ends; −1: never; −2: there is none.
    pub(crate) fn pttl(&self, key: &str) -> Result<i64, Box<dyn Error>> {
        Ok(cmd("PTTL").arg(key).query(&mut connect(&self.nodes[0])?)?)
    }

    /// Kills one node for good. If the first one has a replica, the replica takes its place. Of three,
    /// it is the last.
    pub(crate) async fn lose_one(&mut self) -> Result<(), Box<dyn Error>> {
        if self.replica.is_some() {
            self.until_replicated().await?;
            return self.fail_over().await;
        }
        let last = self.nodes.len() - 1;
        self.nodes[last].kill().await
    }

    /// The first node forgets everything: it is killed, and started again without its data.
    pub(crate) async fn restart_empty(&mut self) -> Result<(), Box<dyn Error>> {
        self.nodes[0].kill().await?;
        let port = self.nodes[0].port();
        let mut said = String::new();
        let server = Server::start_at(port, &self.program, &self.dir, &mut said).await?;
        self.nodes[0] = server.ok_or_else(|| format!("no second start on port {port}: {said}"))?;
        Ok(())
    }

    pub(crate) fn has_replica(&self) -> bool {
        self.replica.is_some()
    }

    /// From here on the replica learns nothing more: its link leads nowhere.
    pub(crate) async fn cut_replica_off(&mut self) -> Result<(), Box<dyn Error>> {
        self.until_replicated().await?;
        let mut replica = connect(self.replica()?)?;
        let cut = cmd("REPLICAOF")
            .arg("127.0.0.1")
            .arg(NOWHERE)
            .query(&mut replica);
        Ok(cut?)
    }

    /// The first node dies, and its replica takes its place.
    pub(crate) async fn fail_over(&mut self) -> Result<(), Box<dyn Error>> {
        self.nodes[0].kill().await?;
        let promoted = self.replica.take().ok_or("there is no replica")?;
        cmd("REPLICAOF")
            .arg("NO")
            .arg("ONE")
            .query::<()>(&mut connect(&promoted)?)?;
        self.nodes[0] = promoted;
        Ok(())
    }

    async fn replicate(&mut self) -> Result<(), Box<dyn Error>> {
        let master = &self.nodes[0];
        // It would wait for five seconds, in case that more replicas come.
        cmd("CONFIG")
            .arg("SET")
            .arg("repl-diskless-sync-delay")
            .arg(0)
            .query::<()>(&mut connect(master)?)?;
        let replica = Server::start(&self.program, &self.dir).await?;
        cmd("REPLICAOF")
            .arg("127.0.0.1")
            .arg(master.port())
            .query::<()>(&mut connect(&replica)?)?;
        self.replica = Some(replica);
        self.until_replicated().await
    }

    /// Waits until the replica has all that its master has.
    async fn until_replicated(&self) -> Result<(), Box<dyn Error>> {
        let mut master = connect(&self.nodes[0])?;
        let mut replica = connect(self.replica()?)?;
        let info = |server: &mut Connection| -> Result<String, Box<dyn Error>> {
            Ok(cmd("INFO").arg("replication").query(server)?)
        };
        let begun = Instant::now();
        loop {
            let (of_master, of_replica) = (info(&mut master)?, info(&mut replica)?);
            let behind = field(&of_replica, "slave_repl_offset");
            if field(&of_replica, "master_link_status") == Some("up")
                && behind.is_some()
                && behind == field(&of_master, "master_repl_offset")
            {
                return Ok(());
            }
            if begun.elapsed() > LONG {
                return Err(format!("a replica does not follow its master:\n{of_replica}").into());
            }
            sleep(LOOK).await;
        }
    }

    fn replica(&self) -> Result<&Server, Box<dyn Error>> {
        Ok(self.replica.as_ref().ok_or("there is no replica")?)
    }
}

fn connect(server: &Server) -> Result<Connection, Box<dyn Error>> {
    let url = format!("redis://127.0.0.1:{}", server.port());
    Ok(redis::Client::open(url)?.get_connection()?)
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = info.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(field, _)| *field == name)
        .map(|(_, value)| value.trim())
}
