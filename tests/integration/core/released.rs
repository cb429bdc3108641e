//! A release on the wire: the server's own command if it has one, otherwise the script.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redlock_core::lease::Released;
use redlock_core::{NodeSet, Resource};
use redlock_tests::{RedisCluster, RedisNode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::core::fixture::{client, connect, once, settle};

/// How often a script and a newer command were asked for.
fn releases(node: &RedisNode) -> [u64; 2] {
    let by_name = node.calls("evalsha");
    [by_name + node.calls("eval"), node.scripts() - by_name]
}

/// Takes and releases a lock. Returns how its release was sent: the number of scripts, and of newer
/// commands.
async fn release(set: &NodeSet, nodes: &[&RedisNode], resource: impl Into<Resource>) -> [u64; 2] {
    let lease = client().acquire(set, &once(resource)).await.unwrap();
    settle(set).await;
    let sum = || {
        let all = nodes.iter().map(|node| releases(node));
        all.fold([0, 0], |sum, one| [sum[0] + one[0], sum[1] + one[1]])
    };
    let before = sum();
    assert_eq!(lease.release().await, Released::Confirmed);
    let after = sum();
    for node in nodes {
        let keys = node.keys();
        let is_lock = |key: &Vec<u8>| !key.starts_with(b"redlock:");
        assert!(!keys.iter().any(is_lock), "{keys:?}");
    }
    [after[0] - before[0], after[1] - before[1]]
}

#[tokio::test]
async fn a_server_that_has_a_command_for_releases_gets_it_and_others_get_the_script() {
    let node = RedisNode::start().await;
    let set = connect([node.url()]).await;
    let [plain, several] = if node.compare_and_delete().is_some() {
        [[0, 1], [1, 0]]
    } else {
        [[1, 0], [1, 0]]
    };
    for _ in 0..3 {
        assert_eq!(release(&set, &[&node], "r").await, plain);
        let names = Resource::all(["a", "b"]);
        assert_eq!(release(&set, &[&node], names).await, several);
    }
}

#[tokio::test]
async fn each_server_of_a_cluster_is_released_from_by_what_it_has() {
    let cluster = RedisCluster::start(0).await;
    let servers: Vec<_> = cluster.servers().iter().collect();
    let set = connect([cluster.url()]).await;
    for place in 0..3 {
        let name = cluster.name_at(place, "r");
        let released = release(&set, &servers, &*name).await;
        let is_newer = servers[place].compare_and_delete().is_some();
        assert_eq!(released, if is_newer { [0, 1] } else { [1, 0] });
    }
}

#[tokio::test]
async fn a_release_is_the_script_on_a_connection_whose_command_is_forbidden() {
    let node = RedisNode::start().await;
    let Some(command) = node.compare_and_delete() else {
        // Simulated servers show it, and the next test.
        return;
    };
    let set = connect([node.url()]).await;
    assert_eq!(release(&set, &[&node], "r").await, [0, 1]);
    node.command(["ACL", "SETUSER", "default", &format!("-{command}")]);
    for _ in 0..3 {
        assert_eq!(release(&set, &[&node], "r").await, [1, 0]);
    }
    // Forbidden from the first.
    let later = connect([node.url()]).await;
    assert_eq!(release(&later, &[&node], "r").await, [1, 0]);
    node.command(["ACL", "SETUSER", "default", &format!("+{command}")]);
    let allowed = connect([node.url()]).await;
    assert_eq!(release(&allowed, &[&node], "r").await, [0, 1]);
}

#[tokio::test]
async fn a_key_of_another_type_under_a_locks_name_changes_no_other_release() {
    let node = RedisNode::start().await;
    let set = connect([node.url()]).await;
    let expected = if node.compare_and_delete().is_some() {
        [0, 1]
    } else {
        [1, 0]
    };
    node.command(["HSET", "hash", "field", "value"]);
    let refused = client().acquire(&set, &once("hash")).await;
    assert!(refused.is_err());
    settle(&set).await;
    node.del("hash");
    assert_eq!(release(&set, &[&node], "r").await, expected);
}

/// Passes the bytes of a connection on, but answers the greeting as a server that has a command for releases,
/// and the trial of that command. Counts the others in `sent`.
async fn pretend(mut client: TcpStream, node: SocketAddr, has_delifeq: bool, sent: &AtomicU64) {
    let mut server = TcpStream::connect(node).await.unwrap();
    let hello: &[u8] = if has_delifeq {
        b"*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n8.4.0\r\n"
    } else {
        b"*4\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$7\r\nversion\r\n$5\r\n9.0.0\r\n"
    };
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                let asked = &asked[..length];
                let says = |word: &[u8]| asked.windows(word.len()).any(|part| part == word);
                // The greeting waits for each answer, so these come alone.
                let passed = if says(b"HELLO") {
                    client.write_all(hello).await
                } else if says(b"DEL") && says(b"redlock:permissions") && !says(b"EVAL") {
                    client.write_all(b":0\r\n").await
                } else {
                    let newer = says(b"\r\nDELIFEQ\r\n") || says(b"\r\nDELEX\r\n");
                    sent.fetch_add(newer.into(), Ordering::SeqCst);
                    server.write_all(asked).await
                };
                passed.unwrap();
            }
            read = server.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                client.write_all(&answered[..length]).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_release_becomes_the_script_when_a_proxy_has_gone_to_an_older_server() {
    let node = RedisNode::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let (addr, has_delifeq) = (node.addr(), node.has_command("delifeq"));
    let commands = Arc::<AtomicU64>::default();
    let counted = Arc::clone(&commands);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let counted = Arc::clone(&counted);
            tokio::spawn(async move { pretend(client, addr, has_delifeq, &counted).await });
        }
    });
    let set = connect([url]).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    assert!(node.get("r").is_some());
    assert_eq!(lease.release().await, Released::Confirmed);
    assert_eq!(node.get("r"), None);
    assert_eq!(commands.load(Ordering::SeqCst), 1, "a command");
    for _ in 0..3 {
        assert_eq!(release(&set, &[&node], "r").await, [1, 0]);
    }
    assert_eq!(
        commands.load(Ordering::SeqCst),
        1,
        "its refusal is remembered"
    );
}
