//! The figures of a node. No vote depends on them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::node::{ClockOffset, LastError, NodeError, NodeHealth};

/// The figures of a node, over all its connections. The masters of a Cluster share them.
#[derive(Default)]
pub(in crate::redis) struct NodeMetrics {
    figures: Mutex<Figures>,
    /// Notified of each error, because another master of the Cluster may have the slot now.
    pub(in crate::redis) trouble: Notify,
}

#[derive(Default)]
struct Figures {
    /// The figures that are independent of the present time.
    health: NodeHealth,
    /// The number of open connections.
    connected: usize,
    since: Option<Instant>,
    last_error: Option<(NodeError, Instant)>,
    /// The last reading of the node's clock: µs ahead of this host's clock, their accuracy, and the moment.
    clock: Option<(i64, Duration, Instant)>,
}

impl NodeMetrics {
    /// Records a new connection. `mend` is the ACL command that adds the permissions that its user lacks.
    pub(in crate::redis) fn record_connected(
        &self,
        was_connected: bool,
        now: Instant,
        mend: Option<Arc<str>>,
    ) {
        let mut figures = self.figures.lock();
        figures.connected += usize::from(!was_connected);
        figures.since = Some(now);
        // The new connection may lead to another server, with another clock.
        figures.clock = None;
        figures.health.connections += 1;
        figures.health.mend = mend;
    }

    /// Records that the connection has ended, or failed to open, because of `error`.
    pub(in crate::redis) fn record_disconnected(&self, was_connected: bool, error: &NodeError) {
        let mut figures = self.figures.lock();
        if was_connected || figures.since.is_none() {
            figures.since = Some(Instant::now());
        }
        figures.connected -= usize::from(was_connected);
        figures.clock = None;
        drop(figures);
        self.record_error(error);
    }

    /// Records a fault of the connection or of the server.
    pub(in crate::redis) fn record_error(&self, error: &NodeError) {
        self.figures.lock().last_error = Some((error.clone(), Instant::now()));
        self.trouble.notify_one();
    }

    /// Counts `operations` that failed with `error`.
    pub(in crate::redis) fn record_failed(&self, error: &NodeError, operations: usize) {
        let mut figures = self.figures.lock();
        if operations > 0 {
            *figures.health.errors.entry(error.kind()).or_default() += operations as u64;
        }
        drop(figures);
        self.trouble.notify_one();
    }

    /// Counts an answer, which took the time `after`.
    pub(in crate::redis) fn record_answer(&self, after: Duration) {
        let health = &mut self.figures.lock().health;
        health.answers += 1;
        // Smooth the latency as TCP smooths its round trips (RFC 6298).
        let smoothed = health
            .latency
            .map(|it| it.saturating_sub(it / 8) + after / 8);
        health.latency = smoothed.or(Some(after));
    }

    /// Records by how much the node's clock is ahead of this host's. The true value is at most `within` away.
    pub(in crate::redis) fn record_clock(&self, ahead_us: i64, within: Duration) {
        self.figures.lock().clock = Some((ahead_us, within, Instant::now()));
    }

    /// Returns the figures that are known here. Other fields keep their defaults.
    pub(in crate::redis) fn health(&self, now: Instant) -> NodeHealth {
        let figures = self.figures.lock();
        let ago = |at: Instant| now.saturating_duration_since(at);
        let last_error = figures.last_error.as_ref();
        NodeHealth {
            is_connected: figures.connected > 0,
            since: figures.since.map(ago),
            last_error: last_error.map(|(error, at)| LastError {
                error: error.clone(),
                ago: ago(*at),
            }),
            clock: figures.clock.map(|(ahead_us, within, at)| ClockOffset {
                ahead_us,
                within,
                ago: ago(at),
            }),
            ..figures.health.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::NodeErrorKind;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn latency_is_smoothed() {
        let metrics = NodeMetrics::default();
        let latency = || metrics.health(Instant::now()).latency;
        assert_eq!(latency(), None);
        metrics.record_answer(ms(80));
        assert_eq!(latency(), Some(ms(80)));
        metrics.record_answer(ms(8));
        assert_eq!(latency(), Some(ms(71)));
        assert_eq!(metrics.health(Instant::now()).answers, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_is_not_connected_since_its_connection_broke() {
        let metrics = NodeMetrics::default();
        metrics.record_connected(false, Instant::now(), None);
        tokio::time::advance(ms(5)).await;
        for (was_connected, detail) in [
            (true, "closed"),
            (false, "refused"),
            (false, "refused still"),
        ] {
            let error = NodeError::unsent(NodeErrorKind::NotConnected, detail);
            metrics.record_disconnected(was_connected, &error);
            tokio::time::advance(ms(10)).await;
        }
        let health = metrics.health(Instant::now());
        assert!(!health.is_connected && health.connections == 1);
        assert_eq!(health.since, Some(ms(30)));
        let last = health.last_error.unwrap();
        assert_eq!(
            (&*last.error.to_string(), last.ago),
            ("refused still", ms(10))
        );
    }
}
