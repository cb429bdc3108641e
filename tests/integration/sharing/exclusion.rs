//! Which clients exclude each other.

use redlock_core::lease::Released;
use redlock_core::node::Obstacle;
use redlock_core::request::{Kind, Note};
use redlock_tests::Nodes;

use crate::core::fixture::{SOON, once, settle, start};
use crate::sharing::fixture::{FOREIGN, TTL, acquired, plain, reads, refused, writes};

#[tokio::test]
async fn plain_locks_and_readers_keep_each_other_out() {
    let forms = || {
        let mut forms = vec![plain(), once(["r", "s"]).ttl(TTL)];
        let fenced = forms
            .clone()
            .into_iter()
            .map(|request| request.fencing(true));
        forms.extend(fenced.collect::<Vec<_>>());
        let noted = plain().note(Note::new("a job"));
        forms.push(noted);
        forms
    };
    let (nodes, set) = start(3).await;
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

#[tokio::test]
async fn a_plain_lock_a_writer_and_all_readers_are_one_permit_each() {
    let permit = || plain().kind(Kind::Permits(2));
    let (nodes, set) = start(3).await;
    for request in [plain(), reads(), writes()] {
        let holder = acquired(&set, &request).await;
        settle(&set).await;
        let other = acquired(&set, &permit()).await;
        assert_eq!(other.permit(), Some(1));
        let (_, text) = refused(&set, &permit()).await;
        assert!(text.contains("all 2 permits are held"), "{text}");
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
async fn a_foreign_client_and_any_kind_keep_each_other_out() {
    let (nodes, set) = start(3).await;
    for request in [reads(), writes()] {
        assert_eq!(foreign_lock(&nodes), 3);
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
