//! Where one fault happens to one generation: servers of its own, and callers.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use crate::call;
use crate::caller::{Caller, Order};
use crate::generations::Generation;
use crate::servers::{Layout, NOWHERE, Servers};
use crate::shared::tied;

/// A ttl that passes while the scene waits for it.
pub(crate) const SHORT: Duration = Duration::from_millis(300);

/// A ttl that does not pass in a scene.
pub(crate) const FULL: Duration = Duration::from_secs(120);

/// The pools of this library's callers.
const POOLS: [&str; 3] = ["A", "B", "C"];

pub(crate) struct Scene<'a> {
    pub(crate) generation: Generation,
    pub(crate) servers: Servers,
    dir: &'a Path,
}

impl<'a> Scene<'a> {
    /// `is_failover`: the first of three nodes has a replica too.
    pub(crate) async fn start(
        generation: Generation,
        is_failover: bool,
        program: &str,
        dir: &'a Path,
    ) -> Result<Self, Box<dyn Error>> {
        let is_replicated = match generation.layout() {
            Layout::Single => false,
            Layout::Replicated => true,
            Layout::Three => is_failover,
        };
        let servers = Servers::start(generation.layout(), is_replicated, program, dir).await?;
        Ok(Self {
            generation,
            servers,
            dir,
        })
    }

    /// A caller that reaches all servers.
    pub(crate) async fn caller(&self, name: &'static str) -> Result<Caller, Box<dyn Error>> {
        self.caller_of(name, &self.servers.ports()).await
    }

    /// A caller that does not reach the last of three nodes. If there is only one, it reaches that.
    pub(crate) async fn caller_cut_off(
        &self,
        name: &'static str,
    ) -> Result<Caller, Box<dyn Error>> {
        let mut ports = self.servers.ports();
        if self.generation.layout() == Layout::Three {
            // The first caller of all opens new nodes, and all three are in use.
            self.caller(name).await?;
            ports[2] = NOWHERE;
        }
        self.caller_of(name, &ports).await
    }

    async fn caller_of(&self, name: &'static str, ports: &[u16]) -> Result<Caller, Box<dyn Error>> {
        let generation = self.generation.argument();
        let mut command = tied::myself(&[call::COMMAND, &generation])?;
        command.current_dir(self.dir);
        for (name, _) in std::env::vars_os() {
            if name
                .to_str()
                .is_some_and(|name| name.starts_with("REDLOCK_"))
            {
                command.env_remove(name);
            }
        }
        let url = |port: &u16| format!("redis://127.0.0.1:{port}");
        if self.generation.layout() == Layout::Three {
            command.arg("");
            for (pool, port) in POOLS.iter().zip(ports) {
                command.env(format!("REDLOCK_POOLS_{pool}_URL"), url(port));
            }
            command
                .env("REDLOCK_RESTART_CHECK", self.generation.restart_check())
                // A busy machine is none of the faults.
                .env("REDLOCK_NODE_TIMEOUT", "20s");
        } else {
            command.arg(url(&ports[0]));
        }
        Caller::start(name, command).await
    }
}

/// An attempt on `key` with the host's clock.
pub(crate) fn order(key: &str, ttl: Duration) -> Order<'_> {
    Order {
        key,
        ttl,
        clock: None,
    }
}
