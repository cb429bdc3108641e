//! A cluster of etcd with three members.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use redlock_tests::{Nodes, Service, eventually};

pub(crate) struct Etcd {
    members: Vec<Service>,
    ports: Vec<u16>,
}

impl Etcd {
    /// Starts the cluster with the defaults of etcd, so every write is on a majority's disks. Its files and
    /// ports lie beside those of `nodes`, and so belong to this process alone.
    pub(crate) async fn start(program: &Path, nodes: &Nodes) -> Self {
        let ports: Vec<u16> = nodes.iter().map(|node| node.port() + 40).collect();
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        // Between members.
        let peer = |port: u16| url(port + 10);
        let names = ports.iter().map(|&port| format!("m{port}={}", peer(port)));
        let cluster = names.collect::<Vec<_>>().join(",");
        let mut members = Vec::new();
        for (node, &port) in nodes.iter().zip(&ports) {
            let data = node.dir().join("etcd").display().to_string();
            let arguments = [
                ("--name", format!("m{port}")),
                ("--data-dir", data),
                ("--listen-client-urls", url(port)),
                ("--advertise-client-urls", url(port)),
                ("--listen-peer-urls", peer(port)),
                ("--initial-advertise-peer-urls", peer(port)),
                ("--initial-cluster", cluster.clone()),
                ("--initial-cluster-state", "new".to_owned()),
            ];
            let arguments = arguments.map(|(name, value)| [name.to_owned(), value]);
            let none: [(&str, &str); 0] = [];
            let member = Service::spawn_with_args(program, arguments.concat(), none, "");
            members.push(member.await);
        }
        let etcd = Self { members, ports };
        eventually("a leader of etcd", Duration::from_secs(20), || async {
            let seen: Vec<_> = etcd.ports.iter().map(|&port| has_leader(port)).collect();
            if seen.iter().all(|has| *has) {
                Ok(())
            } else {
                Err(format!("{seen:?}"))
            }
        })
        .await;
        etcd
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        let urls = self
            .ports
            .iter()
            .map(|port| format!("http://127.0.0.1:{port}"));
        urls.collect()
    }

    fn is_leader(&self, member: usize) -> bool {
        says(self.ports[member], "etcd_server_is_leader 1")
    }

    /// Returns a follower other than the first member, which the first caller asks.
    pub(crate) fn follower(&self) -> &Service {
        let mut members = 1..self.members.len();
        let follower = members.find(|&member| !self.is_leader(member));
        &self.members[follower.expect("one leader of three")]
    }

    /// Lets all members go on.
    pub(crate) fn thaw(&self) {
        self.members.iter().for_each(Service::thaw);
    }

    /// Returns the leader, and waits for the end of an election. A member that was stopped may have begun one.
    pub(crate) async fn leader(&self) -> &Service {
        let within = Duration::from_secs(20);
        eventually("a leader of etcd", within, || async {
            let mut members = 0..self.members.len();
            let leader = members.find(|&member| self.is_leader(member));
            let leader = leader.map(|member| &self.members[member]);
            leader.ok_or_else(|| "none".to_owned())
        })
        .await
    }
}

fn has_leader(port: u16) -> bool {
    says(port, "etcd_server_has_leader 1")
}

/// Returns true if the metrics of a member have this line.
fn says(port: u16, line: &str) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    };
    ask().is_ok_and(|text| text.lines().any(|it| it == line))
}
