//! Which clients exclude each other, on one node and on three.

use redlock_core::error::{ExtendError, LeaseEnd};
use redlock_core::lease::Released;
use redlock_core::node::Obstacle;
use redlock_core::request::{Kind, Note};
use redlock_tests::Nodes;

use crate::core::fixture::{SOON, client, once, settle, start};
use crate::sharing::fixture::{
    FOREIGN, READERS, TTL, acquired, plain, reads, refused, until_entries, writes,
};

#[tokio::test]
async fn locks_without_a_mode_in_every_form_and_readers_keep_each_other_out() {
    let forms = || {
        let mut forms = vec![plain(), once(["r", "s"]).ttl(TTL)];
        let fenced = forms.clone().into_iter().map(|mut request| {
            request.fencing = true;
            request
        });
        forms.extend(fenced.collect::<Vec<_>>());
        let mut noted = plain();
        noted.note = Note::new("a job");
        forms.push(noted);
        forms
    };
    for n in [1, 3] {
        let (nodes, set) = start(n).await;
        for form in forms() {
            let holder = acquired(&set, &form).await;
            for request in [reads(), writes()] {
                let (obstacle, text) = refused(&set, &request).await;
                assert_eq!(obstacle, Obstacle::Holder, "{text}");
            }
            assert_eq!(holder.release().await, Released::Confirmed);
            let reader = acquired(&set, &reads()).await;
            let (obstacle, text) = refused(&set, &form).await;
            assert_eq!(obstacle, Obstacle::Readers, "{text}");
            // The free name of a set is untouched.
            settle(&set).await;
            assert!(nodes.values_of("s").iter().all(Option::is_none));
            assert_eq!(reader.release().await, Released::Confirmed);
        }
        nodes.assert_no_lock_keys(SOON).await;
    }
}

#[tokio::test]
async fn a_plain_lock_a_writer_and_all_readers_together_count_as_one_permit_each() {
    let permit = || plain().kind(Kind::Permits(2));
    for n in [1, 3] {
        let (nodes, set) = start(n).await;
        for request in [plain(), reads(), writes()] {
            let holder = acquired(&set, &request).await;
            settle(&set).await;
            let other = acquired(&set, &permit()).await;
            assert_eq!(other.permit(), Some(1));
            let error = client().acquire(&set, &permit()).await.unwrap_err();
            assert!(
                error.to_string().contains("all 2 permits are held"),
                "{error}"
            );
            holder.release().await;
            settle(&set).await;
            let first = acquired(&set, &permit()).await;
            assert_eq!(first.permit(), Some(0));
            // Which keeps them out in turn.
            refused(&set, &request).await;
            other.release().await;
            first.release().await;
            settle(&set).await;
        }
        nodes.assert_no_lock_keys(SOON).await;
    }
}

/// `SET key value NX PX ms`, which every Redlock client sends, old versions of this one included.
fn foreign_lock(nodes: &Nodes) -> usize {
    let set = |node: &redlock_tests::RedisNode| {
        let set = ["SET", "r", FOREIGN, "NX", "PX", "600000"];
        let answer: Option<String> = node.try_command(set).expect("SET");
        answer.is_some()
    };
    nodes.iter().filter(|node| set(node)).count()
}

#[tokio::test]
async fn a_foreign_client_and_readers_and_writers_keep_each_other_out() {
    for n in [1, 3] {
        let (nodes, set) = start(n).await;
        for request in [reads(), writes()] {
            assert_eq!(foreign_lock(&nodes), n);
            let (obstacle, text) = refused(&set, &request).await;
            assert_eq!(obstacle, Obstacle::Holder, "{text}");
            for node in &nodes {
                node.del("r");
            }
            let lease = acquired(&set, &request).await;
            settle(&set).await;
            assert_eq!(foreign_lock(&nodes), 0, "{request:?}");
            lease.release().await;
            settle(&set).await;
        }
        nodes.assert_no_keys(SOON).await;
    }
}

#[tokio::test]
async fn a_marker_without_a_live_entry_is_free() {
    let (nodes, set) = start(3).await;
    for request in [reads(), writes()] {
        for node in &nodes {
            node.set("r", "redlock:readers", Some(TTL));
        }
        acquired(&set, &request).await.release().await;
        nodes.assert_no_keys(SOON).await;
    }
}

#[tokio::test]
async fn entries_from_before_a_lost_key_do_not_come_back_to_life() {
    let (nodes, set) = start(3).await;
    let reader = acquired(&set, &reads()).await;
    settle(&set).await;
    // An operator deletes the key, and a plain lock comes and goes.
    for node in &nodes {
        node.del("r");
    }
    acquired(&set, &plain()).await.release().await;
    let next = acquired(&set, &reads()).await;
    settle(&set).await;
    until_entries(&nodes, 1).await;
    let ended = reader.extend(TTL).await.unwrap_err();
    assert!(
        matches!(ended, ExtendError::Ended(LeaseEnd::Taken(None))),
        "{ended}"
    );
    reader.release().await;
    until_entries(&nodes, 1).await;
    next.release().await;
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_key_that_is_no_lock_is_named_as_such() {
    let (nodes, set) = start(1).await;
    nodes[0].command(["RPUSH", "r", "a"]);
    for request in [reads(), writes()] {
        let (_, text) = refused(&set, &request).await;
        assert!(text.contains("not a string"), "{text}");
    }
    nodes[0].del("r");
    nodes[0].set("r", "redlock:readers", None);
    nodes[0].set(READERS, "a string", None);
    let error = crate::core::fixture::client()
        .acquire(&set, &reads())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("not a string"), "{error}");
}
