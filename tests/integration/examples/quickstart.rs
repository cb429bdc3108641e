//! The tour checks itself: it fails when an answer is not what it tells its reader.

use crate::examples::STORY;
use crate::services::LONG;
use redlock_tests::Service;

#[tokio::test]
async fn the_tour_ends_well_and_leaves_no_key() {
    let program = Service::build_example("quickstart").await;
    let tour = Service::spawn(program, [("RUST_BACKTRACE", "1")], "Nodes: ").await;
    assert!(tour.wait(STORY).await.success(), "{tour}");
    let said = "   keys left on the nodes: 0";
    tour.wait_for_line(said, LONG).await;
}
