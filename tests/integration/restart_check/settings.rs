//! Processes of different settings on the same servers.

use std::sync::Arc;

use redlock_core::restart_check::{CheckedSet, RestartCheck};
use redlock_tests::{NodeOptions, RedisNode, eventually};

use crate::restart_check::fixture::{MARKER, OFTEN, SOON, Set, marker};

const SECOND: &str = "redlock:marker:2";

async fn process(node: &RedisNode, restart_check: RestartCheck, trust_aof: bool) -> Set {
    let set = Set::with([node.url()], restart_check, |options| {
        options.heartbeat = OFTEN;
        options.trust_aof = trust_aof;
    });
    set.await.voting().await
}

/// Waits until a process has said this of itself.
async fn until_said(node: &RedisNode, word: &str) {
    eventually(word, SOON, || async {
        let text = node.get(SECOND).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        if text.contains(&format!(" {word}:")) {
            Ok(())
        } else {
            Err(text)
        }
    })
    .await;
}

#[tokio::test]
async fn a_node_that_one_process_trusts_waits_where_another_does_not() {
    let node = RedisNode::start_with(NodeOptions::default().append_only()).await;
    let trusting = process(&node, RestartCheck::Standard, true).await;
    let careful = process(&node, RestartCheck::Standard, false).await;
    until_said(&node, "careful").await;
    let mut epochs = [trusting.epochs(0), careful.epochs(0)];
    node.restart().await;
    for epochs in &mut epochs {
        epochs.next().await;
    }
    let text = node.get(SECOND).unwrap();
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains(" restarted "), "{text}");
}

#[tokio::test]
async fn a_strict_process_closes_what_another_has_just_opened() {
    let node = RedisNode::start().await;
    // On however slow a machine.
    let lasting = |restart_check| {
        Set::with([node.url()], restart_check, move |options| {
            options.heartbeat = OFTEN;
            options.checked_set = Some(Arc::new(CheckedSet::new(restart_check, SOON * 60, 1)));
        })
    };
    let standard = lasting(RestartCheck::Standard).await.voting().await;
    let mut epochs = standard.epochs(0);
    let _strict = lasting(RestartCheck::Strict).await;
    epochs.next().await;
    until_said(&node, "strict").await;
}

/// Such a process reads the first version only, and so does a script.
#[tokio::test]
async fn what_processes_say_leaves_the_first_version_as_it_was() {
    let node = RedisNode::start_with(NodeOptions::default().append_only()).await;
    let before = {
        let _first = process(&node, RestartCheck::Standard, true).await;
        marker(&node)
    };
    let _second = process(&node, RestartCheck::Standard, false).await;
    until_said(&node, "careful").await;
    assert_eq!(marker(&node), before);
}

#[tokio::test]
async fn a_user_that_may_not_touch_the_second_version_does_without() {
    let node = RedisNode::start().await;
    let key = format!("~{MARKER}");
    node.command(["ACL", "SETUSER", "locker", "on", ">secret", &key, "+@all"]);
    let url = format!("redis://locker:secret@{}", node.addr());
    let set = Set::attentive([url]).await.voting().await;
    assert_eq!(node.get(SECOND), None);
    let mut epochs = set.epochs(0);
    node.flushall();
    epochs.next().await;
}
