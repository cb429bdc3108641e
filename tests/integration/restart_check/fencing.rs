//! Fencing tokens of servers whose clocks are wrong.

use std::time::{Duration, SystemTime};

use redlock_core::Request;
use redlock_core::restart_check::RestartCheck;
use redlock_tests::{NodeOptions, Nodes};

use crate::restart_check::fixture::{Set, client, once};

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn movable(n: usize) -> Nodes {
    Nodes::start_with(n, NodeOptions::default().movable_clock()).await
}

fn fenced() -> Request {
    let mut request = once("r");
    request.fencing = true;
    request
}

/// The token of a lock that is taken and released.
async fn token(set: &Set) -> u64 {
    let lease = client().acquire(&set.node_set(), &fenced()).await.unwrap();
    let token = lease.fencing_token().expect("a token").as_u64();
    lease.release().await;
    token
}

/// In µs, as tokens are.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(now.unwrap().as_micros()).unwrap()
}

/// Each node limits the hint to its own clock.
#[tokio::test]
async fn tokens_rise_on_behind_a_clock_that_was_a_day_ahead_and_counters_that_idled_for_hours() {
    for n in [1, 3] {
        let nodes = movable(n).await;
        for node in &nodes {
            node.advance_clock(DAY);
        }
        let set = Set::with(nodes.urls(), RestartCheck::Off, |_| {}).await;
        let mut last = token(&set).await;
        assert!(last > now() + 80_000_000_000, "by the nodes' time");
        for node in &nodes {
            node.set_back_clock(DAY);
        }
        let mended = token(&set).await;
        assert!(mended > last, "{mended} behind {last}");
        last = mended;
        // What was used last is kept for an hour, or until the time has passed it.
        for hours in [2, 20, 2, 2] {
            for node in &nodes {
                node.advance_clock(HOUR * hours);
            }
            let later = token(&set).await;
            assert!(later > last, "{later} behind {last}");
            last = later;
        }
        assert!(last > now() + 24 * 3_600_000_000, "the time has passed it");
        assert!(last < now() + 27 * 3_600_000_000, "{last}");
    }
}
