//! Functions that call themselves, each call with a lock of its own.

use std::future::Future;
use std::pin::Pin;

use redlock_runtime::{LockError, redlock};

use crate::macro_behaviour::fixture::{Nodes, with_nodes};

/// The keys that are locked at the deepest call.
#[redlock(resource = "depth:{depth}")]
async fn down(depth: u64, nodes: &Nodes) -> Result<Vec<String>, LockError> {
    if depth == 0 {
        return Ok(nodes.locked());
    }
    let keys = Box::pin(down(depth - 1, nodes)).await?;
    assert!(nodes.locked().contains(&format!("depth:{depth}")));
    assert!(!nodes.locked().contains(&format!("depth:{}", depth - 1)));
    Ok(keys)
}

#[redlock(resource = "boxed:{depth}")]
fn boxed_down(
    depth: u64,
    nodes: &Nodes,
) -> Pin<Box<dyn Future<Output = Result<Vec<String>, LockError>> + Send + '_>> {
    Box::pin(async move {
        if depth == 0 {
            return Ok(nodes.locked());
        }
        boxed_down(depth - 1, nodes).await
    })
}

fn sorted(mut keys: Vec<String>) -> Vec<String> {
    keys.sort();
    keys
}

#[tokio::test]
async fn each_call_of_a_recursion_holds_its_own_lock() {
    with_nodes(|nodes, _| async move {
        let keys = down(3, &nodes).await.unwrap();
        assert_eq!(sorted(keys), ["depth:0", "depth:1", "depth:2", "depth:3"]);
        let keys = boxed_down(2, &nodes).await.unwrap();
        assert_eq!(sorted(keys), ["boxed:0", "boxed:1", "boxed:2"]);
        assert!(nodes.locked().is_empty());
    })
    .await;
}

#[redlock(resource = "upper:{id}", retry_count = 0, name = "upper")]
#[redlock(resource = "lower:{id}", retry_count = 0, guard = lower)]
async fn stacked(id: u64, nodes: &Nodes) -> Result<Vec<String>, LockError> {
    assert!(lower.resource().to_string().contains("lower:1"));
    Ok(nodes.locked())
}

#[tokio::test]
async fn two_attributes_are_two_locks_and_the_lower_is_taken_first() {
    with_nodes(|nodes, _| async move {
        let keys = stacked(1, &nodes).await.unwrap();
        assert_eq!(sorted(keys), ["lower:1", "upper:1"]);
        assert!(nodes.locked().is_empty());

        let refused_by = async |resource: &str| {
            let error = stacked(1, &nodes).await.unwrap_err();
            assert!(error.is_contended(), "{error}");
            assert!(error.to_string().contains(resource), "{error}");
        };
        let upper = redlock_runtime::lock("upper:1").acquire().await.unwrap();
        refused_by("upper:1").await;
        let lower = redlock_runtime::lock("lower:1").acquire().await.unwrap();
        refused_by("lower:1").await;
        lower.release().await;
        upper.release().await;
        nodes.free().await;
    })
    .await;
}
