//! One server of `PostgreSQL`.

use std::ffi::OsString;
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use redlock_tests::{RedisNode, Service, eventually};

/// The user's id under which the server runs if the benchmark runs as root, as such a server refuses to run as root.
const UNPRIVILEGED: u32 = 65_534;

pub(crate) struct Postgres {
    _server: Service,
    port: u16,
}

impl Postgres {
    /// Starts a server with its defaults. Its programs are in `programs`. Its files and its port
    /// lie beside those of `node`.
    pub(crate) async fn start(programs: &Path, node: &RedisNode) -> Result<Self, String> {
        let directory = node.dir().join("postgres");
        std::fs::create_dir(&directory).map_err(|error| error.to_string())?;
        let owner = std::fs::metadata(&directory).map_err(|error| error.to_string())?;
        let mut prefix: Vec<OsString> = Vec::new();
        if owner.uid() == 0 {
            let id = Some(UNPRIVILEGED);
            chown(&directory, id, id).map_err(|error| error.to_string())?;
            let id = UNPRIVILEGED.to_string();
            prefix = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"]
                .map(OsString::from)
                .to_vec();
        }
        let command = |program: &str, arguments: &[&str]| {
            let mut words = prefix.clone();
            words.push(programs.join(program).into());
            words.extend(["-D".into(), directory.clone().into_os_string()]);
            words.extend(arguments.iter().map(OsString::from));
            words
        };
        // What `--no-sync` leaves out are the files of the new, empty database.
        let words = command(
            "initdb",
            &["-U", "bench", "-A", "trust", "--no-sync", "--locale", "C"],
        );
        let made = Command::new(&words[0]).args(&words[1..]).output();
        let made = made.map_err(|error| format!("initdb: {error}"))?;
        if !made.status.success() {
            return Err(format!("initdb: {}", String::from_utf8_lossy(&made.stderr)));
        }
        let port = node.port() + 70;
        let listen = format!("port={port}");
        let words = command(
            "postgres",
            &[
                "-c",
                &listen,
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "unix_socket_directories=",
            ],
        );
        let no_variables: [(&str, &str); 0] = [];
        let server = Service::spawn_with_args(&words[0], &words[1..], no_variables, "").await;
        eventually(
            "the server of PostgreSQL",
            Duration::from_secs(20),
            || async { TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string()) },
        )
        .await;
        Ok(Self {
            _server: server,
            port,
        })
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        vec![format!(
            "host=127.0.0.1 port={} user=bench dbname=postgres",
            self.port
        )]
    }
}
