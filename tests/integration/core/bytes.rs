//! The calls of a plain lock, to the byte.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use redlock_core::lease::Released;
use redlock_core::request::Kind;
use redlock_core::{NodeSet, Request};
use redlock_tests::{Nodes, RedisNode};

use crate::core::fixture::{SOON, client, once, settle, start};

const TTL: Duration = Duration::from_secs(300);

/// The digests of the scripts, by which servers know them.
const RELEASE: &str = "929cea764cf1a096aec257c0a12ac9f777633062";
const ACQUIRE_ALL: &str = "796a30461e5714a7db148fa59b7a536457876da6";

/// A connection that is shown each command of a server's clients.
struct Monitor<'a> {
    node: &'a RedisNode,
    lines: BufReader<TcpStream>,
}

impl<'a> Monitor<'a> {
    fn of(node: &'a RedisNode) -> Self {
        let mut stream = TcpStream::connect(node.addr()).expect("a connection");
        stream.set_read_timeout(Some(SOON)).expect("a timeout");
        stream.write_all(b"MONITOR\r\n").expect("a command");
        let mut monitor = Self {
            node,
            lines: BufReader::new(stream),
        };
        assert_eq!(monitor.line(), "+OK\r\n");
        monitor
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line
    }

    /// The commands with the key `key` until now, each as its words. Commands of scripts are none of a client.
    fn commands_with(mut self, key: &str) -> Vec<Vec<String>> {
        self.node.command(["ECHO", "the end"]);
        let mut commands = Vec::new();
        loop {
            let line = self.line();
            let (from, command) = line.trim_end().split_once("] ").expect("a command");
            if command == r#""ECHO" "the end""# {
                return commands;
            }
            let words = command
                .split(' ')
                .map(|word| word.trim_matches('"').to_owned());
            let words: Vec<_> = words.collect();
            if !from.ends_with("lua") && words.iter().any(|word| word == key) {
                commands.push(words);
            }
        }
    }
}

/// What each node is sent about `r` while `request` is locked and released.
async fn sent(nodes: &Nodes, set: &NodeSet, request: &Request) -> Vec<Vec<Vec<String>>> {
    let monitors: Vec<_> = nodes.iter().map(Monitor::of).collect();
    let lease = client().acquire(set, request).await.unwrap();
    // Both might go to the last node in one call.
    settle(set).await;
    assert_eq!(lease.release().await, Released::Confirmed);
    settle(set).await;
    let commands = monitors.into_iter().map(|it| it.commands_with("r"));
    commands.collect()
}

#[tokio::test]
async fn a_plain_lock_is_set_and_released_by_these_bytes() {
    let plain = || once("r").ttl(TTL);
    let one_permit = Kind::Permits(1);
    for n in [1, 3] {
        let (nodes, set) = start(n).await;
        for request in [plain(), plain().kind(one_permit)] {
            for commands in sent(&nodes, &set, &request).await {
                let [set, release] = &commands[..] else {
                    panic!("{commands:?}");
                };
                let token = &*set[2];
                let expected = ["SET", "r", token, "NX", "GET", "PX", "300000"];
                assert_eq!(set, &expected);
                assert_eq!(release, &["EVALSHA", RELEASE, "1", "r", token]);
                let owner = format!("/{}/", std::process::id());
                assert!(token.contains(&owner), "{token}");
            }
            nodes.assert_no_keys(SOON).await;
        }
        let several = once(["r", "s"]).ttl(TTL);
        for commands in sent(&nodes, &set, &several).await {
            let [acquire, release] = &commands[..] else {
                panic!("{commands:?}");
            };
            let token = &*acquire[5];
            let expected = ["EVALSHA", ACQUIRE_ALL, "2", "r", "s", token, "300000"];
            assert_eq!(acquire, &expected);
            assert_eq!(release, &["EVALSHA", RELEASE, "2", "r", "s", token]);
        }
    }
}
