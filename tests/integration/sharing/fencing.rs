//! The numbers of readers and writers.

use std::time::{Duration, SystemTime};

use redlock_core::quorum::HINT_WINDOW;
use redlock_core::{Client, Lease, Request};
use redlock_tests::RedisNode;

use crate::core::fixture::{SOON, settle, start};
use crate::core::still_clock::StillClock;
use crate::sharing::fixture::{acquired, plain, reads, writes};

const COUNTER: &str = "redlock:fence:{r}";
const AHEAD: u64 = 9_000_000_000_000_000;

fn fenced(mut request: Request) -> Request {
    request.fencing = true;
    request
}

fn token(lease: &Lease) -> u64 {
    let token = lease.fencing_token().expect("fencing was asked for");
    token.as_u64()
}

fn counter(node: &RedisNode) -> u64 {
    let digits = String::from_utf8(node.get(COUNTER).expect("a counter")).unwrap();
    digits.parse().expect("a whole number")
}

/// A client whose clocks stand still, at a time that is ahead of the servers' by this.
fn ahead(by: Duration) -> Client {
    let clock = StillClock::default();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    clock.advance(now.unwrap() + by);
    Client::new(clock.environment())
}

#[tokio::test]
async fn a_reader_is_above_every_earlier_writer_and_below_every_later_one_whatever_clocks_do() {
    for n in [1, 3] {
        let (nodes, set) = start(n).await;
        let mut last = 0;
        for place in 0..20 {
            let request = if place % 2 == 0 { writes() } else { plain() };
            let fast = ahead(HINT_WINDOW / 10 * 9);
            let writer = fast.acquire(&set, &fenced(request)).await.unwrap();
            let written = token(&writer);
            assert!(written > last, "{written} after readers with {last}");
            writer.release().await;
            let one = acquired(&set, &fenced(reads())).await;
            let other = acquired(&set, &fenced(reads())).await;
            for reader in [one, other] {
                last = token(&reader).max(last);
                assert!(
                    token(&reader) > written,
                    "{last} after a writer with {written}"
                );
                reader.release().await;
            }
        }
        nodes.assert_no_lock_keys(SOON).await;
    }
}

#[tokio::test]
async fn a_readers_number_is_not_counted_on() {
    let (nodes, set) = start(3).await;
    for node in &nodes {
        node.set(COUNTER, AHEAD.to_string(), None);
    }
    for _ in 0..3 {
        let reader = acquired(&set, &fenced(reads())).await;
        assert_eq!(token(&reader), AHEAD);
        settle(&set).await;
        assert!(nodes.iter().all(|node| node.pttl(COUNTER).left().is_some()));
        reader.release().await;
    }
    let writer = acquired(&set, &fenced(writes())).await;
    assert_eq!(token(&writer), AHEAD + 1);
}

#[tokio::test]
async fn a_readers_token_is_confirmed_on_the_nodes_below_it() {
    let (nodes, set) = start(2).await;
    nodes[0].set(COUNTER, AHEAD.to_string(), None);
    let reader = acquired(&set, &fenced(reads())).await;
    assert_eq!(token(&reader), AHEAD);
    assert_eq!([counter(&nodes[0]), counter(&nodes[1])], [AHEAD; 2]);
    reader.release().await;
    // The node that knew is forgotten: the other one has the number by now.
    nodes[0].del(COUNTER);
    let writer = acquired(&set, &fenced(writes())).await;
    assert!(token(&writer) > AHEAD, "{}", token(&writer));
}
