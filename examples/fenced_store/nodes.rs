//! The Redis nodes: those that are configured, or three of our own.

use std::error::Error;
use std::path::Path;

use crate::shared::server::{self, Server};

/// Dropping it kills the servers that are ours.
pub(crate) enum Nodes {
    Configured,
    Ours(Vec<(&'static str, Server)>),
}

impl Nodes {
    pub(crate) async fn choose(dir: &Path) -> Result<Self, Box<dyn Error>> {
        if is_configured() {
            return Ok(Self::Configured);
        }
        let program = server::redis_server(", or configure pools in redlock.toml")?;
        let mut servers = Vec::new();
        for pool in ["a", "b", "c"] {
            servers.push((pool, Server::start(&program, dir).await?));
        }
        Ok(Self::Ours(servers))
    }

    /// What tells a child's `Config::load()` about nodes that it could not know of otherwise.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let servers = self.ours().iter().map(|(pool, server)| {
            let name = format!("REDLOCK_POOLS_{}_URL", pool.to_ascii_uppercase());
            (name, format!("redis://127.0.0.1:{}", server.port()))
        });
        servers.collect()
    }

    pub(crate) fn describe(&self) -> String {
        let servers = self.ours().iter();
        let servers = servers.map(|(pool, server)| format!("{pool} on port {}", server.port()));
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
            for (_, mut server) in servers {
                server.kill().await?;
            }
        }
        Ok(())
    }

    fn ours(&self) -> &[(&'static str, Server)] {
        match self {
            Self::Configured => &[],
            Self::Ours(servers) => servers,
        }
    }
}

/// Whether the places where `Config::load()` looks name a pool.
fn is_configured() -> bool {
    let is_pool = |name: &str| name.starts_with("REDLOCK_POOLS_") && name.ends_with("_URL");
    std::env::var_os("REDLOCK_CONFIG").is_some()
        || Path::new("redlock.toml").exists()
        || std::env::vars_os().any(|(name, _)| name.to_str().is_some_and(is_pool))
}
