//! The clients that the suite runs.

use std::path::PathBuf;
use std::process::Command;

use redlock_interop_tests::Program;

/// A client of another library, as its registry has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Neighbour {
    NodeRedlock,
    Sesamecare,
    RedisPy,
    Pottery,
    PythonRedisLock,
    Aioredlock,
    Rslock,
}

/// The folder into which `scripts/test --neighbours` installs them.
fn installed(path: &str) -> PathBuf {
    let target = PathBuf::from(env!("CARGO_BIN_EXE_rslock_client"));
    let target = target.ancestors().nth(2).expect("the folder of all builds");
    let path = target.join("neighbours").join(path);
    assert!(
        path.exists(),
        "{} is missing; run `scripts/test --neighbours`, which installs it",
        path.display()
    );
    path
}

fn client(path: &str) -> PathBuf {
    let clients = concat!(env!("CARGO_MANIFEST_DIR"), "/clients");
    PathBuf::from(clients).join(path)
}

impl Neighbour {
    /// Its name in its registry.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NodeRedlock => "redlock",
            Self::Sesamecare => "@sesamecare-oss/redlock",
            Self::RedisPy => "redis-py",
            Self::Pottery => "pottery",
            Self::PythonRedisLock => "python-redis-lock",
            Self::Aioredlock => "aioredlock",
            Self::Rslock => "rslock",
        }
    }

    /// What it puts ahead of the name that it is given, and so the `key_prefix` beside it.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Pottery => "redlock:",
            Self::PythonRedisLock => "lock:",
            _ => "",
        }
    }

    /// Starts its program.
    pub(crate) fn start(self, urls: &[String]) -> Program {
        let mut command = match self {
            Self::NodeRedlock | Self::Sesamecare => {
                let mut command = Command::new("node");
                command
                    .arg(client("redlock_client.js"))
                    .arg(installed("node/node_modules"))
                    .arg(self.name());
                command
            }
            Self::Rslock => Command::new(env!("CARGO_BIN_EXE_rslock_client")),
            _ => {
                let mut command = Command::new(installed("python/bin/python"));
                command.arg(client("python_client.py")).arg(self.name());
                command
            }
        };
        command.args(urls);
        Program::start(self.name(), command)
    }
}
