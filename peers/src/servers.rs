//! The systems, their servers, and the programs of their clients.

use std::path::{Path, PathBuf};
use std::process::Command;

use redlock_interop_tests::Program;
use redlock_tests::Nodes;

use crate::client;
use crate::etcd_servers::Etcd;
use crate::postgres_server::Postgres;

pub(crate) const SYSTEMS: [&str; 8] = [
    "redlock",
    "redlock, fenced",
    "rslock",
    "node-redlock",
    "pottery",
    "redis-py",
    "etcd",
    "PostgreSQL",
];

/// True if the system has one server, so it does not go on without it.
pub(crate) fn has_one_server(system: &str) -> bool {
    matches!(system, "redis-py" | "PostgreSQL")
}

/// The servers of all systems.
pub(crate) struct Servers<'a> {
    pub(crate) nodes: &'a Nodes,
    pub(crate) etcd: Result<Etcd, String>,
    postgres: Result<Postgres, String>,
    /// The folder of `tests/interop/install`, with the clients of other languages.
    neighbours: PathBuf,
}

impl<'a> Servers<'a> {
    /// Starts those that are installed.
    pub(crate) async fn start(nodes: &'a Nodes) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let neighbours = root.join(target).join("neighbours");
        let etcd = match find("etcd", [neighbours.join("etcd/usr/bin")]) {
            Some(folder) => Ok(Etcd::start(&folder.join("etcd"), nodes).await),
            None => Err("there is no `etcd`".to_owned()),
        };
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter();
        let debian = versions.flatten().flatten();
        let postgres = match find("postgres", debian.map(|version| version.path().join("bin"))) {
            Some(folder) => Postgres::start(&folder, &nodes[0]).await,
            None => Err("there is no `postgres`".to_owned()),
        };
        Self {
            nodes,
            etcd,
            postgres,
            neighbours,
        }
    }

    /// Starts a program with the client of `system`.
    pub(crate) fn client(&self, system: &'static str) -> Result<Program, String> {
        let installed = |path: &str| {
            let path = self.neighbours.join(path);
            let is_there = path.exists().then_some(path);
            is_there.ok_or_else(|| "not installed".to_owned())
        };
        let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/interop/clients");
        let mut urls = self.nodes.urls();
        let mut command = match system {
            "node-redlock" => {
                let mut command = Command::new("node");
                command.arg(clients.join("redlock_client.js"));
                command.arg(installed("node/node_modules")?).arg("redlock");
                command
            }
            "pottery" | "redis-py" => {
                let mut command = Command::new(installed("python/bin/python")?);
                command.arg(clients.join("python_client.py")).arg(system);
                command
            }
            _ => client::command(system),
        };
        match system {
            "redis-py" => urls.truncate(1),
            "etcd" => urls = self.etcd.as_ref().map_err(Clone::clone)?.urls(),
            "PostgreSQL" => urls = self.postgres.as_ref().map_err(Clone::clone)?.urls(),
            _ => {}
        }
        command.args(urls);
        Ok(Program::start(system, command))
    }
}

/// Returns the first of `folders`, and of those on the path, with this program.
fn find(program: &str, folders: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut all = folders.into_iter().chain(on_path);
    all.find(|folder| folder.join(program).is_file())
}
