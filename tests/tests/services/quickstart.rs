//! The tour checks itself: it fails when an answer is not what it tells its reader.

use crate::LONG;
use redlock_tests::{Nodes, Service};

#[tokio::test]
async fn the_tour_ends_well_on_embedded_nodes() {
    let program = Service::build_example("quickstart").await;
    let tour = Service::spawn(program, [("RUST_BACKTRACE", "1")], "Nodes: ").await;
    assert!(tour.wait(LONG).await.success(), "{tour}");
    tour.wait_for_line("   keys left on the nodes: 0", LONG)
        .await;
}

#[tokio::test]
async fn the_tour_ends_well_on_real_nodes_and_leaves_no_key() {
    let program = Service::build_example("quickstart").await;
    let nodes = Nodes::start(3).await;
    let names = ["A", "B", "C"].map(|name| format!("REDLOCK_POOLS_{name}_URL"));
    let mut environment: Vec<_> = names.into_iter().zip(nodes.urls()).collect();
    environment.push((
        "REDLOCK_NODE_TIMEOUT".into(),
        crate::fleet::NODE_TIMEOUT.into(),
    ));
    let tour = Service::spawn(program, environment, "Nodes: ").await;
    assert!(tour.wait(LONG).await.success(), "{tour}");
    nodes.assert_no_lock_keys(LONG).await;
}
