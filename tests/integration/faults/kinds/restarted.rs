//! Nodes that restart, without their data or with it.

use redlock_core::error::ExtendError;
use redlock_core::lease::Released;
use redlock_tests::eventually;

use crate::core::fixture::{SOON, client, start};
use crate::faults::scene::{majority, minority, until_served};

use super::{
    Held, TTL, all_excluded_are_refused, all_excluded_get_in, extend, network, nothing_is_left,
    owners, release, waiting,
};

async fn a_minority_restarted_empty_is_given_the_entries_back(n: usize) {
    let (nodes, set) = start(n).await;
    for held in Held::ALL {
        let leases = held.acquire(&set).await;
        let there = owners(&nodes[0]);
        assert!(!there.is_empty(), "{held:?}");
        for node in nodes.iter().take(minority(n)) {
            node.restart().await;
        }
        until_served(&set).await;
        assert_eq!(owners(&nodes[0]), [b""; 0], "{held:?}");
        // The holder still has a majority, so no other client gets one.
        all_excluded_are_refused(held, &set, "a minority is empty").await;
        until_served(&set).await;
        eventually("the entries on every node", SOON, async || {
            extend(held, &leases, "restarted empty").await;
            until_served(&set).await;
            let owners: Vec<_> = nodes.iter().map(owners).collect();
            let is_everywhere = owners.iter().all(|owners| *owners == there);
            is_everywhere.then_some(()).ok_or(format!("{owners:?}"))
        })
        .await;
        all_excluded_are_refused(held, &set, "entries are back").await;
        release(held, leases, "entries are back").await;
        nothing_is_left(&nodes, &set).await;
    }
}

async fn a_majority_restarted_empty_ends_the_leases(n: usize) {
    let (nodes, set) = start(n).await;
    for held in Held::ALL {
        for request in held.excludes() {
            let leases = held.acquire(&set).await;
            for node in nodes.iter().take(majority(n)) {
                node.restart().await;
            }
            until_served(&set).await;
            for lease in &leases {
                let error = lease.extend(TTL).await.unwrap_err();
                assert!(matches!(error, ExtendError::Ended(_)), "{held:?}: {error}");
                assert!(lease.over().is_some(), "{held:?}");
            }
            let next = client().acquire(&set, &waiting(request)).await;
            let next = next.unwrap_or_else(|error| panic!("{held:?}: {error}"));
            until_served(&set).await;
            let theirs = owners(&nodes[0]);
            for lease in leases {
                lease.release().await;
            }
            until_served(&set).await;
            assert_eq!(owners(&nodes[0]), theirs, "{held:?}");
            next.extend(TTL).await.unwrap();
            assert_eq!(next.release().await, Released::Confirmed, "{held:?}");
            nothing_is_left(&nodes, &set).await;
        }
    }
}

async fn holders_outlive_a_rolling_restart_with_data(n: usize) {
    let network = network(n).await;
    let (nodes, set) = (&network.nodes, &network.set);
    for held in Held::ALL {
        let leases = held.acquire(set).await;
        let before: Vec<_> = nodes.iter().map(owners).collect();
        for node in nodes {
            node.restart().await;
        }
        until_served(set).await;
        let after: Vec<_> = nodes.iter().map(owners).collect();
        assert_eq!(after, before, "{held:?}");
        all_excluded_are_refused(held, set, "restarted").await;
        extend(held, &leases, "restarted").await;
        release(held, leases, "restarted").await;
        all_excluded_get_in(held, set, "restarted").await;
        nothing_is_left(nodes, set).await;
    }
}

with_three_and_five_nodes! {
    a_minority_restarted_empty_is_given_the_entries_back,
    a_majority_restarted_empty_ends_the_leases,
    holders_outlive_a_rolling_restart_with_data,
}
