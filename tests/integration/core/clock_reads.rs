//! How often a lock reads the clock. On in-process nodes a read is a hundredth of an uncontended lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redlock_core::env::{Clock, Moment, Sleep};
use redlock_core::lease::Released;
use redlock_core::{Client, MemoryNode, Node, NodeSet};

use crate::core::fixture::{IO, once};

/// Counts how often the clock is read. Timers read it on their own account.
struct CountingClock {
    clock: Arc<dyn Clock>,
    reads: AtomicUsize,
}

impl Clock for CountingClock {
    fn now(&self) -> Moment {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.clock.now()
    }

    fn wall(&self) -> Duration {
        self.clock.wall()
    }

    fn sleep_until(&self, at: Moment) -> Sleep {
        self.clock.sleep_until(at)
    }
}

#[tokio::test]
async fn a_lock_that_nobody_else_wants_reads_the_clock_eleven_times() {
    let mut environment = IO.environment();
    let node = |name| MemoryNode::new(name, Arc::clone(&environment.clock));
    let nodes: NodeSet =
        Arc::new(["a", "b", "c"].map(|name| Arc::new(node(name)) as Arc<dyn Node>));
    let clock = Arc::new(CountingClock {
        clock: Arc::clone(&environment.clock),
        reads: AtomicUsize::new(0),
    });
    environment.clock = Arc::clone(&clock) as Arc<dyn Clock>;
    let client = Client::new(environment);
    let lease = client.acquire(&nodes, &once("r")).await.unwrap();
    assert_eq!(lease.release().await, Released::Confirmed);
    assert_eq!(clock.reads.load(Ordering::Relaxed), 11);
}
