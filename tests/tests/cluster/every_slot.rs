//! Locks in every part of a Cluster that is well.

use std::time::Duration;

use redlock_core::{AcquireError, Released};
use redlock_tests::RedisCluster;

use crate::fixture::{SOON, client, connect, once, reason};

#[tokio::test]
async fn a_lock_of_any_slot_excludes_extends_and_goes() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    assert_eq!(reason(&set), None);
    let (one, other) = (client(), client());
    for n in 0..300 {
        let name = format!("order:{n}");
        let lease = one.acquire(&set, &once(&name)).await.unwrap();
        if n % 10 == 0 {
            let refused = other.acquire(&set, &once(&name)).await.unwrap_err();
            assert!(matches!(refused, AcquireError::Contended(_)), "{refused}");
            lease.extend(Duration::from_secs(90)).await.unwrap();
        }
        assert_eq!(lease.release().await, Released::Confirmed);
    }
    cluster.assert_no_lock_keys(SOON).await;
    let all = set[0].lanes();
    assert_eq!(all, 3, "each master took a part of them");
    assert!(one.flush(&set, SOON).await.is_empty());
}
