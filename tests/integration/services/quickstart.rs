//! The tour checks itself: it fails when an answer is not what it tells its reader.

use crate::services::fleet::start_nodes;
use crate::services::{LONG, STORY};
use redlock_tests::Service;

#[tokio::test]
async fn the_tour_ends_well_on_embedded_nodes() {
    let program = Service::build_example("quickstart").await;
    let tour = Service::spawn(program, [("RUST_BACKTRACE", "1")], "Nodes: ").await;
    assert!(tour.wait(STORY).await.success(), "{tour}");
    tour.wait_for_line("   keys left on the nodes: 0", LONG)
        .await;
}

#[tokio::test]
async fn the_tour_ends_well_on_real_nodes_and_leaves_no_key() {
    let program = Service::build_example("quickstart").await;
    let (nodes, environment) = start_nodes().await;
    let tour = Service::spawn(program, environment, "Nodes: ").await;
    assert!(tour.wait(STORY).await.success(), "{tour}");
    nodes.assert_no_lock_keys(LONG).await;
}
