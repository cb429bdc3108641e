//! Nodes that answer once the attempt has won.

use redlock_core::Lease;
use redlock_core::lease::Released;
use redlock_tests::Nodes;

use super::{held_at, key, one_of};
use crate::core::bytes::Monitor;
use crate::core::fixture::{SOON, client, settle, start, until_voting};
use crate::faults::scene::Network;

/// How a lease ends, without waiting for the nodes.
#[derive(Clone, Copy, Debug)]
enum End {
    Dropped,
    Revoked,
}

impl End {
    const ALL: [Self; 2] = [Self::Dropped, Self::Revoked];

    fn of(self, lease: Lease) {
        match self {
            Self::Dropped => drop(lease),
            Self::Revoked => {
                let handle = lease.handle();
                tokio::spawn(async move { handle.revoke_and_release().await });
                std::mem::forget(lease);
            }
        }
    }
}

/// Others have the permit 0 of two on the last node, and the permit 1 on the first two. So the first two nodes
/// grant the permit 0, and the last one the permit 1.
fn divide(nodes: &Nodes) {
    for (seat, node) in nodes.iter().enumerate() {
        node.set(key(u16::from(seat < 2)), "someone", None);
    }
}

#[tokio::test]
async fn a_pair_costs_each_node_one_acquisition_and_one_release() {
    let (nodes, set) = start(3).await;
    let client = client();
    // The servers know the scripts from now on.
    client
        .acquire(&set, &one_of(10))
        .await
        .unwrap()
        .release()
        .await;
    settle(&set).await;
    for _ in 0..5 {
        let monitors: Vec<_> = nodes.iter().map(Monitor::of).collect();
        // The last node answers when the lease is there.
        nodes[2].freeze();
        let lease = client.acquire(&set, &one_of(10)).await.unwrap();
        let permit = key(lease.permit().unwrap());
        nodes[2].thaw();
        settle(&set).await;
        assert_eq!(lease.release().await, Released::Confirmed);
        settle(&set).await;
        for monitor in monitors {
            let commands = monitor.commands_where(|word| word == "r" || word.contains("{r}"));
            let [acquire, release] = &commands[..] else {
                panic!("{commands:?}");
            };
            // The ten permits; and the permit that was won.
            assert_eq!((&*acquire[0], &*acquire[2]), ("EVALSHA", "10"));
            assert_eq!(release[2..4], ["1", &permit]);
        }
    }
}

#[tokio::test]
async fn a_late_node_that_granted_another_permit_loses_it_while_the_lease_is_held() {
    let (nodes, set) = start(3).await;
    divide(&nodes);
    nodes[2].freeze();
    let lease = client().acquire(&set, &one_of(2)).await.unwrap();
    assert_eq!((lease.permit(), lease.votes()), (Some(0), 2));
    nodes[2].thaw();
    settle(&set).await;
    assert_eq!(nodes[2].get(key(1)), None, "it granted the permit 1");
    assert_eq!(held_at(&nodes[2]), [0], "which another client has");
    assert!(lease.over().is_none());
    assert_eq!(lease.release().await, Released::Confirmed);
    settle(&set).await;
    assert_eq!(held_at(&nodes[0]), [1]);
    assert_eq!(held_at(&nodes[2]), [0]);
}

#[tokio::test]
async fn a_late_node_whose_connection_breaks_is_sent_the_release_on_the_next_one() {
    let network = Network::start(3).await;
    let (nodes, set, proxy) = (&network.nodes, &network.set, &network.proxies[2]);
    divide(nodes);
    proxy.swallow_to_client();
    let lease = client().acquire(set, &one_of(2)).await.unwrap();
    redlock_tests::eventually("the grant of the last node", SOON, || async {
        let held = held_at(&nodes[2]);
        (held == [0, 1]).then_some(()).ok_or(format!("{held:?}"))
    })
    .await;
    proxy.cut().await;
    until_voting(&set[2], false).await;
    proxy.restore().await;
    until_voting(&set[2], true).await;
    settle(set).await;
    assert_eq!(held_at(&nodes[2]), [0]);
    assert_eq!(held_at(&nodes[0]), [0, 1]);
    lease.release().await;
    settle(set).await;
    assert_eq!(held_at(&nodes[0]), [1]);
}

#[tokio::test]
async fn a_lease_that_ends_before_a_late_answer_leaves_no_other_permit() {
    for end in End::ALL {
        let (nodes, set) = start(3).await;
        divide(&nodes);
        nodes[2].freeze();
        let lease = client().acquire(&set, &one_of(2)).await.unwrap();
        assert_eq!(lease.permit(), Some(0));
        end.of(lease);
        tokio::task::yield_now().await;
        nodes[2].thaw();
        settle(&set).await;
        assert_eq!(held_at(&nodes[0]), [1], "{end:?}");
        assert_eq!(held_at(&nodes[2]), [0], "{end:?}");
    }
}

#[tokio::test]
async fn a_late_node_that_granted_the_same_permit_is_released_too() {
    for end in End::ALL {
        let (nodes, set) = start(3).await;
        nodes[2].freeze();
        let lease = client().acquire(&set, &one_of(4)).await.unwrap();
        end.of(lease);
        tokio::task::yield_now().await;
        nodes[2].thaw();
        settle(&set).await;
        for node in &nodes {
            assert_eq!(held_at(node), [0_u16; 0], "{end:?}");
        }
    }
}
