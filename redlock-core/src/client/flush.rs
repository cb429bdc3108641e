//! Waits until the nodes have nothing left to do.

use std::time::Duration;

use crate::node::NodeSet;

use super::Client;

/// The first pause between two looks. It doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

impl Client {
    /// Waits until every node has served all calls and is owed no release, for at most `timeout`. Returns the
    /// names of the nodes that are not there yet. It is for the end of a process: while callers acquire locks, a
    /// node may always have something to do.
    ///
    /// # Cancellation
    /// Dropping the future has no effect on the nodes.
    pub async fn flush(&self, nodes: &NodeSet, timeout: Duration) -> Vec<String> {
        let clock = self.shared.context.clock();
        let until = clock.now().saturating_add(timeout);
        let mut pause = FIRST_PAUSE;
        loop {
            let busy = nodes.iter().filter(|node| !node.drained());
            let busy: Vec<_> = busy.map(|node| node.name().to_owned()).collect();
            let now = clock.now();
            if busy.is_empty() || now >= until {
                return busy;
            }
            clock
                .sleep_until(until.min(now.saturating_add(pause)))
                .await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
