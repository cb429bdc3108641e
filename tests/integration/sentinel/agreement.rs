//! Sentinels of which not all know of a failover.

use std::time::Duration;

use redlock_core::NodeSet;
use redlock_tests::{Nodes, wait_until};

use crate::sentinel::fixture::{brief, lock_soon, until_abstaining, voting, wary};
use crate::sentinel::puppet::{Puppet, url};

/// Waits until an idle node has another connection than its first.
pub(crate) async fn until_moved(set: &NodeSet) {
    wait_until(
        "another connection",
        || set[0].health(),
        |health| health.is_connected && health.connections > 1,
    )
    .await;
}

#[tokio::test]
async fn the_one_sentinel_that_answers_and_knows_moves_an_idle_node() {
    let nodes = Nodes::start(2).await;
    let sentinels = Puppet::start_three(&nodes[0]).await;
    sentinels[2].hold(true);
    let set = voting(url(&sentinels), wary()).await;
    sentinels[0].hold(true);
    sentinels[1].hold(true);
    sentinels[2].name(&nodes[1], 2);
    sentinels[2].hold(false);
    until_moved(&set).await;
    let lease = lock_soon(&set, "r").await;
    assert!(nodes[1].get("r").is_some());
    lease.release().await;
}

#[tokio::test]
async fn a_node_that_has_left_a_deposed_master_never_goes_back() {
    let nodes = Nodes::start(2).await;
    let (old, new) = (&nodes[0], &nodes[1]);
    let sentinels = Puppet::start_three(old).await;
    let options = brief()
        .connect_timeout(Duration::from_secs(1))
        .heartbeat(Duration::from_millis(50));
    let set = voting(url(&sentinels), options).await;
    // The successor cannot be reached yet, so the node asks again and again.
    new.kill();
    sentinels[1].hold(true);
    sentinels[2].name(new, 2);
    let successor = format!("master {}", new.addr());
    until_abstaining(&set[0], &successor).await;
    // From now on only those answer that have not heard of the failover.
    sentinels[2].hold(true);
    sentinels[1].hold(false);
    sentinels[0].has_answered(2).await;
    new.restart().await;
    let lease = lock_soon(&set, "r").await;
    assert!(new.get("r").is_some(), "it is on the deposed master");
    lease.release().await;
}
