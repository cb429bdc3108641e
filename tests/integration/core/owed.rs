//! Releases that a server answers with an error.

use std::time::Duration;

use futures_util::future::join_all;
use redlock_core::lease::Released;
use redlock_core::{Lease, Resource};
use redlock_tests::{Nodes, wait_until};

use crate::core::fixture::{SOON, client, connect, once, reason, settle, start};

const LONG: Duration = Duration::from_secs(10 * 60);

#[tokio::test]
async fn a_refused_release_is_repeated_once_the_server_takes_it() {
    let (nodes, set) = start(3).await;
    let setting = ["CONFIG", "SET", "min-replicas-to-write"];
    let user = ["ACL", "SETUSER", "default"];
    for ([first, second, third], trouble, mended) in [(setting, "1", "0"), (user, "-del", "+del")] {
        let with = |last| [first, second, third, last];
        let lease = client().acquire(&set, &once("r").ttl(LONG)).await.unwrap();
        settle(&set).await;
        nodes[0].command(with(trouble));
        assert_eq!(lease.release().await, Released::Confirmed);
        assert_eq!(client().flush(&set, SOON).await, ["a"], "{trouble:?}");
        assert!(nodes[0].get("r").is_some());
        nodes[0].command(with(mended));
        wait_until("the release", || nodes[0].get("r"), Option::is_none).await;
        settle(&set).await;
    }
}

#[tokio::test]
async fn a_release_whose_user_may_not_read_is_owed() {
    let nodes = Nodes::start(1).await;
    let user = ["ACL", "SETUSER", "app"];
    let may = |rules: &[&str]| nodes[0].command(user.iter().chain(rules).copied());
    may(&["on", "nopass", "~*", "&*", "+@all"]);
    let set = connect([nodes[0].url().replace("://", "://app:any@")]).await;
    let client = client();
    for is_brief in [false, true] {
        if is_brief {
            // From now on the server is asked only for the beginning of what these keys hold.
            nodes[0].set("r", "x".repeat(1000), None);
            client.acquire(&set, &once(["r", "s"])).await.unwrap_err();
            settle(&set).await;
            nodes[0].del("r");
        }
        // One lock of one key, one of several, and two that are released in one call.
        for locks in [&[&["r"][..]][..], &[&["r", "s"]], &[&["r"], &["s"]]] {
            let all = locks.iter().map(|keys| async {
                let request = once(Resource::all(keys.iter().copied())).ttl(LONG);
                client.acquire(&set, &request).await.unwrap()
            });
            let leases = join_all(all).await;
            settle(&set).await;
            may(&["-get", "-mget", "-getrange"]);
            join_all(leases.into_iter().map(Lease::release)).await;
            let left = client.flush(&set, Duration::from_millis(1)).await;
            assert_eq!(left, ["a"], "{locks:?}");
            may(&["+get"]);
            nodes.assert_no_keys(SOON).await;
            may(&["+mget", "+getrange"]);
        }
    }
}

#[tokio::test]
async fn a_node_that_grants_and_refuses_each_release_does_not_vote() {
    let (nodes, set) = start(1).await;
    let user = ["ACL", "SETUSER", "default"];
    nodes[0].command(user.into_iter().chain(["-evalsha"]));
    let client = client();
    for name in ["a", "b", "c"] {
        let lease = client.acquire(&set, &once(name).ttl(LONG)).await.unwrap();
        lease.release().await;
    }
    // A grant says nothing of releases.
    let lease = client.acquire(&set, &once("d").ttl(LONG)).await.unwrap();
    let reason = reason(&set[0]).expect("it votes, and has all locks");
    assert!(reason.to_string().contains("evalsha"), "{reason}");
    nodes[0].command(user.into_iter().chain(["+evalsha"]));
    lease.release().await;
    assert_eq!(super::fixture::reason(&set[0]), None);
    nodes.assert_no_keys(SOON).await;
}
