//! The systems, with their promises and the commands that start their programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use redlock_interop_tests::Program;
use redlock_tests::Nodes;

use super::{Etcd, Postgres, serve};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    Ours,
    Fenced,
    Rslock,
    NodeRedlock,
    Pottery,
    RedisPy,
    Etcd,
    Postgres,
}

impl System {
    pub(crate) const ALL: [Self; 8] = [
        Self::Ours,
        Self::Fenced,
        Self::Rslock,
        Self::NodeRedlock,
        Self::Pottery,
        Self::RedisPy,
        Self::Etcd,
        Self::Postgres,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "redlock",
            Self::Fenced => "redlock, fenced",
            Self::Rslock => "rslock",
            Self::NodeRedlock => "node-redlock",
            Self::Pottery => "pottery",
            Self::RedisPy => "redis-py",
            Self::Etcd => "etcd",
            Self::Postgres => "PostgreSQL",
        }
    }

    /// True if it has one server, so it goes on without none.
    pub(crate) const fn has_one_server(self) -> bool {
        matches!(self, Self::RedisPy | Self::Postgres)
    }

    /// In the order of [`PROMISES`].
    pub(crate) const fn promises(self) -> [&'static str; 5] {
        match self {
            Self::Ours => [
                "a majority of independent nodes, for the ttl less drift",
                "goes on with a majority; a node that came back empty has no vote until `max_ttl` has passed",
                "on request: the next row",
                "in line, told of releases; turns between processes",
                "the lease ends on the holder's clock, before the key does; the body is cancelled",
            ],
            Self::Fenced => [
                "the same",
                "the same",
                "a token that grows from holder to holder, over the majority",
                "the same",
                "the same; and the store refuses it",
            ],
            Self::Rslock => [
                "a majority of independent nodes, for the ttl less drift",
                "goes on with a majority once all have answered or failed; a node that came back empty votes",
                "no",
                "polls: 0 to 200 ms",
                "nothing; it may look at `validity_time`",
            ],
            Self::NodeRedlock => [
                "a majority of independent nodes, for the ttl less drift",
                "goes on with a majority; a node that came back empty votes",
                "no",
                "polls: 100 to 300 ms",
                "an `AbortSignal` in `using`; else it may look at `expiration`",
            ],
            Self::Pottery => [
                "a majority of independent nodes, for the ttl less drift",
                "goes on with a majority; a node that came back empty votes",
                "no",
                "polls: 0 to 200 ms",
                "an exception at `extend` or `release`",
            ],
            Self::RedisPy => [
                "one server, for the ttl",
                "no lock; a server that came back empty has forgotten all",
                "no",
                "polls: 100 ms",
                "an exception at `extend` or `release`",
            ],
            Self::Etcd => [
                "the lowest revision in a log on a majority's disks, until its lease expires",
                "goes on with a majority, behind a leader's death after an election; forgets nothing",
                "the key's creation revision, which etcd itself can compare in a transaction",
                "in line, by revision; each watches the one before",
                "`Done` of the session, once its lease is no longer kept alive",
            ],
            Self::Postgres => [
                "one server, while the session lasts; no clock takes part",
                "no lock; all are gone with their sessions",
                "no",
                "in line, in order of arrival",
                "an error of the connection at its next use",
            ],
        }
    }
}

/// What [`System::promises`] says of each.
pub(crate) const PROMISES: [&str; 5] = [
    "what excludes",
    "a node dies",
    "fencing",
    "waiting",
    "what a holder that lost it learns",
];

/// The servers of all systems.
pub(crate) struct Servers<'a> {
    pub(crate) nodes: &'a Nodes,
    pub(crate) etcd: Result<Etcd, String>,
    pub(crate) postgres: Result<Postgres, String>,
    /// Where the clients of other languages are installed.
    neighbours: PathBuf,
}

impl<'a> Servers<'a> {
    /// Starts what there is; `neighbours` is the folder of `tests/interop/install`.
    pub(crate) async fn start(nodes: &'a Nodes, neighbours: PathBuf) -> Self {
        let etcd = match find("etcd", [neighbours.join("etcd/usr/bin")]) {
            Some(folder) => Ok(Etcd::start(&folder.join("etcd"), nodes).await),
            None => Err(
                "there is no `etcd`; `tests/interop/install --peers` unpacks Debian's".to_owned(),
            ),
        };
        let debian = std::fs::read_dir("/usr/lib/postgresql")
            .into_iter()
            .flatten();
        let debian = debian.flatten().map(|version| version.path().join("bin"));
        let postgres = match find("postgres", debian) {
            Some(folder) => Postgres::start(&folder, &nodes[0]).await,
            None => Err("there is no `postgres`; Debian's package is `postgresql`".to_owned()),
        };
        Self {
            nodes,
            etcd,
            postgres,
            neighbours,
        }
    }

    /// Starts a program with the client of `system`.
    pub(crate) fn client(&self, system: System) -> Result<Program, String> {
        let there = |path: &str| {
            let path = self.neighbours.join(path);
            let is_there = path.exists().then_some(path);
            is_there
                .ok_or_else(|| "it is not installed; `tests/interop/install` does that".to_owned())
        };
        let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/interop/clients");
        let python = |name: &str| {
            let mut command = Command::new(there("python/bin/python")?);
            command.arg(clients.join("python_client.py")).arg(name);
            Ok::<_, String>((command, self.nodes.urls()))
        };
        let (mut command, urls) = match system {
            System::Ours | System::Fenced | System::Rslock => {
                (serve::command(system.name()), self.nodes.urls())
            }
            System::NodeRedlock => {
                let modules = there("node/node_modules")?;
                let mut command = Command::new("node");
                command.arg(clients.join("redlock_client.js"));
                command.arg(modules).arg("redlock");
                (command, self.nodes.urls())
            }
            System::Pottery => python("pottery")?,
            System::RedisPy => (python("redis-py")?.0, vec![self.nodes[0].url()]),
            System::Etcd => {
                let etcd = self.etcd.as_ref().map_err(Clone::clone)?;
                (serve::command(system.name()), etcd.urls())
            }
            System::Postgres => {
                let postgres = self.postgres.as_ref().map_err(Clone::clone)?;
                (serve::command(system.name()), postgres.urls())
            }
        };
        command.args(urls);
        Ok(Program::start(system.name(), command))
    }
}

/// The first of `folders`, and of those on the path, with this program.
fn find(program: &str, folders: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut all = folders.into_iter().chain(on_path);
    all.find(|folder| folder.join(program).is_file())
}
