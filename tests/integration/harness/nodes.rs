//! Nodes: their data, and their start.

use crate::harness::HOUR;
use redlock_tests::{NodeOptions, Nodes, RedisNode};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

#[tokio::test]
async fn a_key_left_behind_is_named_with_its_node() {
    let nodes = Nodes::start(2).await;
    nodes[1].set("order:42", "token", Some(HOUR));
    nodes[0].set("redlock:marker", "mine", None);
    let failing = catch_unwind(AssertUnwindSafe(|| {
        std::thread::scope(|scope| {
            let check = || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build();
                let checking = nodes.assert_no_lock_keys(Duration::ZERO);
                runtime.unwrap().block_on(checking);
            };
            let failed = scope.spawn(check).join().unwrap_err();
            std::panic::resume_unwind(failed)
        })
    }));
    let message = failing.unwrap_err().downcast::<String>().unwrap();
    for part in ["order:42", "token", "Left(", &nodes[1].port().to_string()] {
        assert!(message.contains(part), "no {part:?} in {message}");
    }
    assert!(!message.contains("marker"), "{message}");
    assert!(message.contains(file!()), "{message}");

    nodes[1].del("order:42");
    nodes.assert_no_lock_keys(Duration::ZERO).await;
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let options = NodeOptions::default().arg("no-such-directive", "1");
    let failed = tokio::spawn(RedisNode::start_with(options)).await;
    let message = failed.unwrap_err().into_panic().downcast::<String>();
    let message = message.unwrap();
    assert!(message.contains("no-such-directive"), "{message}");
}
