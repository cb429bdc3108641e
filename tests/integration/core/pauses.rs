//! A client that does not run between its request and the replies.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use redlock_core::env::Clock;
use redlock_core::error::{AcquireError, LeaseEnd, TooLate};
use redlock_core::lease::{BodyOutcome, OnLost};
use redlock_core::node::{Answer, NodeStatus, Submission, Value};
use redlock_core::{Client, Lease, MemoryNode, Node, NodeSet};

use crate::core::fixture::once;
use crate::core::still_clock::StillClock;

/// Votes when the test says so. What matters here is the client's clock, not the node.
#[derive(Default)]
struct Slow {
    waiting: Mutex<Vec<Submission>>,
}

impl Node for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn submit(&self, submission: Submission) {
        if submission.call().is_release() {
            let (value, epoch) = (Value::Int(1), 0);
            return submission.answer(Answer::Reply { value, epoch });
        }
        self.waiting.lock().unwrap().push(submission);
    }

    fn drained(&self) -> bool {
        self.waiting.lock().unwrap().is_empty()
    }

    fn status(&self) -> NodeStatus {
        NodeStatus::Voting
    }
}

/// Acquires with a ttl of 30 s while the process stands still for `pause` before the votes are
/// read.
async fn acquire_with(pause: Duration) -> Result<Lease, AcquireError> {
    let slow: Vec<Arc<Slow>> = (0..3).map(|_| Arc::default()).collect();
    let nodes: NodeSet = slow
        .iter()
        .map(|node| Arc::clone(node) as Arc<dyn Node>)
        .collect();
    let clock = StillClock::default();
    let client = Client::new(clock.environment());
    let request = once("r").ttl(Duration::from_secs(30));
    let mut acquiring = Box::pin(client.acquire(&nodes, &request));
    let is_done = poll_fn(|context| Poll::Ready(acquiring.as_mut().poll(context).is_ready())).await;
    assert!(!is_done);
    clock.advance(pause);
    for node in &slow {
        let waiting = std::mem::take(&mut *node.waiting.lock().unwrap());
        for reply in waiting {
            // To `SET … NX`: the key was free.
            let (value, epoch) = (Value::Nil, 0);
            reply.answer(Answer::Reply { value, epoch });
        }
    }
    acquiring.await
}

#[tokio::test]
async fn votes_read_in_time_are_a_lease() {
    let lease = acquire_with(Duration::from_millis(10)).await.unwrap();
    // 30 s less 1 % and 2 ms of drift, less what has passed since before the request.
    assert_eq!(
        lease.validity(),
        Duration::from_millis(30_000 - 300 - 2 - 10)
    );
}

#[tokio::test]
async fn votes_read_after_the_ttl_are_none() {
    let error = acquire_with(Duration::from_secs(30)).await.unwrap_err();
    let AcquireError::Unavailable(unavailable) = error else {
        panic!("{error}")
    };
    let left = TooLate::Validity(Duration::ZERO);
    assert_eq!(unavailable.too_late, Some(left), "{unavailable}");
}

/// Waits once, and then tells how often it was polled.
async fn wakes_up(polls: Arc<Mutex<usize>>, wake: tokio::sync::oneshot::Receiver<()>) {
    let mut wake = std::pin::pin!(wake);
    poll_fn(|context| {
        *polls.lock().unwrap() += 1;
        wake.as_mut().poll(context).map(|_| ())
    })
    .await;
}

#[tokio::test]
async fn a_body_that_wakes_up_behind_its_deadline_is_not_polled() {
    for (jump, expected) in [(Duration::ZERO, 2), (Duration::from_secs(60), 1)] {
        let clock = StillClock::default();
        let clock_of_node: Arc<dyn Clock> = Arc::new(clock.clone());
        let nodes: NodeSet =
            Arc::new([Arc::new(MemoryNode::new("a", clock_of_node)) as Arc<dyn Node>]);
        let client = Client::new(clock.environment());
        let lease = client.acquire(&nodes, &once("r")).await.unwrap();
        let polls = Arc::new(Mutex::new(0));
        let (wake, woken) = tokio::sync::oneshot::channel();
        let mut body = std::pin::pin!(wakes_up(Arc::clone(&polls), woken));
        let mut held = std::pin::pin!(lease.hold(body.as_mut(), OnLost::Cancel));
        let is_done = poll_fn(|context| Poll::Ready(held.as_mut().poll(context).is_ready())).await;
        assert!(!is_done);
        // The host sleeps; what wakes it up first is the body's own event.
        clock.jump(jump);
        wake.send(()).unwrap();
        let outcome = held.await;
        assert_eq!(*polls.lock().unwrap(), expected);
        match expected {
            2 => assert_eq!(outcome, BodyOutcome::Done(())),
            _ => assert_eq!(outcome, BodyOutcome::Cancelled(LeaseEnd::Expired)),
        }
    }
}
