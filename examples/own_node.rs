//! A node of one's own: it records each call, and hands it to a node in the process.
//!
//! ```sh
//! cargo run -p redlock-examples --example own_node
//! ```

use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use redlock_runtime::node::{EpochListener, Node, NodeStatus, Submission, Watch};
use redlock_runtime::registry::MemoryNode;
use redlock_runtime::{Config, LockError, redlock};

struct Recording {
    calls: Sender<String>,
    inner: MemoryNode,
}

impl Node for Recording {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn submit(&self, submission: Submission) {
        let line = format!("{}: {:?}", self.name(), submission.call());
        let _ = self.calls.send(line); // never blocks, and never panics
        self.inner.submit(submission);
    }
    fn status(&self) -> NodeStatus {
        self.inner.status()
    }
    fn watch(&self, watch: Watch) {
        self.inner.watch(watch);
    }
    fn drained(&self) -> bool {
        self.inner.drained()
    }
    fn epoch(&self) -> u32 {
        self.inner.epoch()
    }
    fn on_new_epoch(&self, listener: EpochListener) {
        self.inner.on_new_epoch(listener);
    }
}

#[redlock(resource = "order:{id}")]
async fn charge(id: u64) -> Result<(), LockError> {
    println!("order {id} is charged");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (calls, recorded) = mpsc::channel();
    let mut config = Config::new();
    for name in ["a", "b", "c"] {
        let calls = calls.clone();
        config = config.pool_node(name, move |environment| {
            let inner = MemoryNode::new(name, environment.clock);
            let calls = calls.clone();
            Ok(Arc::new(Recording { calls, inner }))
        });
    }
    let redlock = redlock_runtime::init(config).await?;
    charge(42).await?;
    redlock.shutdown().await;
    for line in recorded.try_iter() {
        println!("{line}");
    }
    Ok(())
}
