//! Several clients for one resource.

use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::request::{Kind, RetryLimit};
use redlock_core::testing::permit_key;
use redlock_core::{Request, Resource};
use redlock_tests::{Nodes, Proxy, RedisNode, eventually};

use crate::core::fixture::{SOON, client, connect_with, impatient, once, patient, settle, start};

/// Returns one attempt for each kind of lock, each for another resource.
pub(crate) fn each_kind() -> [Request; 6] {
    let fenced = once("fenced").fencing(true);
    [
        once("plain"),
        once(["also", "several"]),
        fenced,
        once("permits").kind(Kind::Permits(2)),
        once("read").kind(Kind::Read),
        once("write").kind(Kind::Write),
    ]
}

/// Returns the keys of the lock, with those of all its permits.
fn keys(request: &Request) -> Vec<Vec<u8>> {
    let mut keys = vec![request.resource.clone()];
    if let Kind::Permits(_) = request.kind {
        keys.push(permit_key(&request.resource, b"", 1));
    }
    let names = keys.iter().flat_map(Resource::names);
    names.map(<[u8]>::to_vec).collect()
}

#[tokio::test]
async fn a_key_that_is_no_lock_is_said_to_be_so_and_left_alone() {
    let (nodes, set) = start(1).await;
    for request in each_kind() {
        for key in keys(&request) {
            nodes[0].command([&b"LPUSH"[..], &key, b"x"]);
        }
        let refused = client().acquire(&set, &request).await.unwrap_err();
        assert!(refused.to_string().contains("not a string"), "{refused}");
        settle(&set).await;
        assert_eq!(nodes.lock_keys(), keys(&request));
        nodes[0].flushall();
    }
    nodes[0].set("forever", "left over", None);
    let refused = client().acquire(&set, &once("forever")).await.unwrap_err();
    let text = refused.to_string();
    assert!(
        text.contains("never expires") && !text.contains("left over"),
        "{text}"
    );
}

/// The bytes that the server has sent, and how often it has read whole values.
fn effort(node: &RedisNode) -> (u64, u64) {
    let sent = node.info("total_net_output_bytes").expect("a figure");
    let reads = node.calls("get") + node.calls("mget");
    (sent.parse().expect("a number"), reads)
}

#[tokio::test]
async fn a_value_of_megabytes_is_sent_once_and_then_its_beginning() {
    const MEGABYTES: usize = 1 << 22;
    for may_read_parts in [true, false] {
        let (nodes, set) = start(1).await;
        let node = &nodes[0];
        if !may_read_parts {
            node.command(["ACL", "SETUSER", "default", "-getrange"]);
        }
        for request in each_kind() {
            for key in keys(&request) {
                node.set(key, vec![b'x'; MEGABYTES], None);
            }
            let refused = || async {
                let (before, error) = (effort(node), client().acquire(&set, &request).await);
                assert!(matches!(error, Err(AcquireError::Contended(_))));
                settle(&set).await;
                let after = effort(node);
                (after.0 - before.0, after.1 - before.1)
            };
            let first = refused().await;
            assert!(first.0 > MEGABYTES as u64);
            // The answer behind a large one is not misread.
            let (client, other) = (client(), once("small"));
            let both = (client.acquire(&set, &request), client.acquire(&set, &other));
            let (refusal, acquired) = tokio::join!(both.0, both.1);
            assert!(matches!(refusal, Err(AcquireError::Contended(_))));
            acquired.unwrap().release().await;
            settle(&set).await;
            // A caller that gave up has told the next one.
            let (bytes, reads) = refused().await;
            assert!(bytes < MEGABYTES as u64, "{}: {bytes} bytes", request.kind);
            assert_eq!(reads > 0, !may_read_parts, "{}", request.kind);
        }
    }
}

#[tokio::test]
async fn a_value_whose_answer_is_out_is_asked_for_by_its_beginning() {
    let nodes = Nodes::start(1).await;
    let proxy = Proxy::start(&nodes[0]).await;
    let options = patient().suspect_after(Duration::from_secs(5));
    let set = connect_with([proxy.url()], &options).await;
    nodes[0].set("r", "someone", None);
    let before = nodes[0].calls("eval");
    proxy.hold_to_client();
    eventually("a script in the place of the command", SOON, async || {
        let unanswered = impatient().acquire(&set, &once("r")).await;
        assert!(matches!(unanswered, Err(AcquireError::Unavailable(_))));
        let scripts = nodes[0].calls("eval") - before;
        (scripts > 0).then_some(()).ok_or("none".to_owned())
    })
    .await;
}

#[tokio::test]
async fn a_waiting_budget_is_used_up_also_without_a_delay() {
    let (nodes, set) = start(1).await;
    nodes[0].set("r", "someone", Some(Duration::from_millis(100)));
    let request = once("r")
        .retry_limit(RetryLimit::Wait(SOON))
        .retry_delay(Duration::ZERO);
    drop(client().acquire(&set, &request).await.unwrap());
}

#[tokio::test]
async fn an_attempt_that_nobody_won_is_tried_again_if_asked_for() {
    let (nodes, set) = start(3).await;
    let attempts = async |holders: [&str; 3], splits| {
        for (node, holder) in nodes.iter().zip(holders) {
            node.del("r");
            if !holder.is_empty() {
                node.set("r", holder, Some(Duration::from_secs(60)));
            }
        }
        let request = once("r")
            .retry_delay(Duration::from_millis(1))
            .split_retries(splits);
        match client().acquire(&set, &request).await.unwrap_err() {
            AcquireError::Contended(contended) => contended.attempts,
            other => panic!("{other}"),
        }
    };
    assert_eq!(attempts(["one", "two", ""], 2).await, 3, "nobody has it");
    assert_eq!(attempts(["one", "two", "three"], 2).await, 3);
    assert_eq!(attempts(["one", "two", ""], 0).await, 1);
    assert_eq!(attempts(["one", "one", ""], 2).await, 1, "somebody has it");
    assert_eq!(attempts(["one", "two", "one"], 2).await, 1);
}
