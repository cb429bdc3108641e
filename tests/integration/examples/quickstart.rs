//! The tour checks itself: it fails when an answer is not what it tells its reader.

use crate::examples::STORY;
use crate::services::LONG;
use redlock_tests::Service;

#[tokio::test]
async fn the_tour_ends_well_and_leaves_no_key() {
    let program = Service::build_example("quickstart").await;
    let tour = Service::spawn(program, [("RUST_BACKTRACE", "1")], "Nodes: ").await;
    assert!(tour.wait(STORY).await.success(), "{tour}");
    let last = "   keys left on the nodes: 0";
    tour.wait_for_line(last, LONG).await;
    let said = tour.output();
    let count = |text: &str| said.matches(text).count();
    assert_eq!(count("answer\n"), 7, "a time line a scene: {said}");
    // Each is in the time line, and printed in full.
    assert_eq!(count("423 Locked"), 2, "{said}");
    assert_eq!(count("503 Service Unavailable"), 6, "{said}");
}
