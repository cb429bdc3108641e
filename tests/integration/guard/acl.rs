//! Users that may do little.

use std::time::Duration;

use redlock_core::NodeErrorKind::{Quarantined, Refused};
use redlock_core::guard::{Marker, RestartGuard};
use redlock_tests::{RedisNode, eventually};

use crate::guard::fixture::{SOON, Set, client, marker, once};
use crate::guard::rules::documented;

fn url_of_user(node: &RedisNode, rules: &[&str]) -> String {
    let user = [
        "ACL",
        "SETUSER",
        "locker",
        "reset",
        "on",
        ">secret",
        "resetkeys",
    ];
    node.command(user.iter().chain(rules).copied());
    format!("redis://locker:secret@{}", node.addr())
}

#[tokio::test]
async fn a_server_that_hides_its_info_votes_and_its_marker_names_no_process() {
    let node = RedisNode::start().await;
    let rules = [&["~*"], &documented()[0][..]].concat();
    let url = url_of_user(&node, &rules);
    let set = Set::attentive([url.clone()]).await;
    assert_eq!(set.votes(), [true]);
    assert_eq!(marker(&node).run_id, Marker::UNKNOWN);
    // A client that comes later takes it for its own; a flush is noticed all the same.
    assert_eq!(Set::standard([url]).await.votes(), [true]);
    node.flushall();
    set.until(0, Quarantined).await;
}

#[tokio::test]
async fn a_user_that_may_not_keep_the_marker_is_refused_with_the_fix() {
    let node = RedisNode::start().await;
    let rules = [&["~shop:*"], &documented().concat()[..]].concat();
    let set = Set::standard([url_of_user(&node, &rules)]).await;
    let reason = set.until(0, Refused).await;
    assert!(
        reason.contains("`redlock:marker`") && reason.contains("restart_guard"),
        "{reason}"
    );
}

#[tokio::test]
async fn what_was_sent_to_a_node_that_is_refused_meanwhile_is_undone() {
    let node = RedisNode::start().await;
    let rules = [&["~*"], &documented().concat()[..]].concat();
    let heartbeat = Duration::from_millis(300);
    let set = Set::with([url_of_user(&node, &rules)], RestartGuard::Standard, |it| {
        it.heartbeat = heartbeat;
    })
    .await;
    set.until_voting(0).await;
    // Its marker is out of reach from now on, and the check that finds that out is asked ahead of
    // the acquisition.
    node.command(["ACL", "SETUSER", "locker", "resetkeys", "~r"]);
    node.freeze();
    tokio::time::sleep(heartbeat * 2).await;
    let nodes = set.node_set();
    let acquiring = tokio::spawn(async move {
        let mut request = once("r");
        request.ttl = Duration::from_secs(60);
        client().acquire(&nodes, &request).await
    });
    tokio::time::sleep(heartbeat).await;
    node.thaw();
    acquiring.await.unwrap().unwrap_err();
    node.command(["ACL", "SETUSER", "locker", "~*"]);
    set.until_voting(0).await;
    eventually("the key to be gone", SOON, || async {
        node.get("r")
            .map_or(Ok(()), |_| Err(format!("{:?}", node.pttl("r"))))
    })
    .await;
}
