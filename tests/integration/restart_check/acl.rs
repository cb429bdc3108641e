//! Users that may do little.

use redlock_core::Node as _;
use redlock_core::node::NodeErrorKind::Denied;
use redlock_core::restart_check::Marker;
use redlock_tests::{NodeOptions, RedisNode, disguise, wait_until};

use crate::restart_check::fixture::{Set, client, marker, once};
use crate::restart_check::rules::documented;

fn url_of_user(node: &RedisNode, rules: &[&str]) -> String {
    let user = "ACL SETUSER locker reset on >secret resetkeys";
    node.command(user.split(' ').chain(rules.iter().copied()));
    format!("redis://locker:secret@{}", node.addr())
}

#[tokio::test]
async fn a_server_that_hides_its_info_has_a_marker_of_no_process() {
    let rules = [&["~*"], &documented()[0][..]].concat();
    let options = NodeOptions::default().arg("rename-command", "INFO ");
    let [forbids, behind_a_proxy] = [RedisNode::start().await, RedisNode::start().await];
    let unsupported = "return redis.error_reply(\"ERR unsupported command 'INFO'\")";
    let renames = RedisNode::start_with(options).await;
    for (node, url) in [
        (&forbids, url_of_user(&forbids, &rules)),
        (&renames, renames.url()),
        (
            &behind_a_proxy,
            disguise(&behind_a_proxy, [("INFO", unsupported)]).await,
        ),
    ] {
        let set = Set::attentive([url.clone()]).await;
        assert_eq!(set.votes(), [true], "{:?}", set.nodes[0].status());
        assert_eq!(marker(node).run_id, Marker::UNKNOWN);
        // A client that connects later accepts the marker as its own. A flush is noticed nevertheless.
        assert_eq!(Set::standard([url]).await.votes(), [true]);
        let mut epochs = set.epochs(0);
        node.flushall();
        epochs.next().await;
    }
}

#[tokio::test]
async fn a_user_that_may_not_keep_the_marker_is_denied_with_the_fix() {
    let node = RedisNode::start().await;
    let rules = [&["~shop:*"], &documented().concat()[..]].concat();
    let set = Set::standard([url_of_user(&node, &rules)]).await;
    let reason = set.until(0, Denied).await;
    assert!(
        reason.contains("`redlock:marker`") && reason.contains("restart_check"),
        "{reason}"
    );
}

/// Waits until `is_held` is true for the user's connection, as `CLIENT LIST` describes it.
async fn until_held(node: &RedisNode, is_held: impl Fn(&str) -> bool) {
    let list = || -> String { node.try_command(["CLIENT", "LIST"]).expect("a list") };
    let of_user = |list: &String| {
        let mut lines = list.lines().filter(|line| line.contains("user=locker"));
        lines.any(&is_held)
    };
    wait_until("a command that is held", list, of_user).await;
}

#[tokio::test]
async fn what_was_sent_to_a_node_that_is_refused_then_is_undone() {
    let node = RedisNode::start().await;
    let rules = [&["~*"], &documented().concat()[..]].concat();
    let set = Set::attentive([url_of_user(&node, &rules)]).await;
    set.until_voting(0).await;
    // From now on the server lets scripts wait, and with the next check everything behind it on its
    // connection.
    node.command(["CLIENT", "PAUSE", "3600000", "WRITE"]);
    until_held(&node, |line| line.contains("flags=b")).await;
    // Its marker is out of reach once the check is looked at again.
    node.command(["ACL", "SETUSER", "locker", "resetkeys", "~r"]);
    let nodes = set.node_set();
    let acquiring = tokio::spawn(async move { client().acquire(&nodes, &once("r")).await });
    until_held(&node, |line| !line.contains(" qbuf=0 ")).await;
    node.command(["CLIENT", "UNPAUSE"]);
    acquiring.await.unwrap().unwrap_err();
    node.command(["ACL", "SETUSER", "locker", "~*"]);
    set.until_voting(0).await;
    wait_until("the release", || node.get("r"), Option::is_none).await;
}
