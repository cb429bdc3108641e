//! The figures of one node.
//!
//! An answer costs a few plain stores and reads no clock. Errors, checks and changes of the connection
//! take a mutex.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::node::NodeHealth;
use crate::node::{ClockOffset, LastError, NodeError, NodeErrorKind};

/// The figures of a node, over all its connections. The masters of a Cluster share them.
#[derive(Default)]
pub(in crate::redis) struct NodeMetrics {
    /// Only drivers write these two, and those of a Cluster are on one thread, so a load and a store make an update.
    answers: AtomicU64,
    /// The smoothed latency in ns.
    latency: AtomicU64,
    state: Mutex<ConnectionState>,
    /// Notified of each error: another master of the Cluster may have the slot.
    pub(in crate::redis) trouble: Notify,
}

#[derive(Default)]
struct ConnectionState {
    /// The connections that stand.
    connected: usize,
    since: Option<Instant>,
    connections: u64,
    errors: BTreeMap<NodeErrorKind, u64>,
    last_error: Option<(NodeError, Instant)>,
    clock: Option<ClockReading>,
    mend: Option<Arc<str>>,
}

/// The node's clock compared with this host's, by one check.
#[derive(Clone, Copy)]
struct ClockReading {
    ahead_us: i64,
    within: Duration,
    at: Instant,
}

impl NodeMetrics {
    pub(in crate::redis) fn connected(&self, now: Instant) {
        let mut state = self.state.lock();
        state.connected += 1;
        state.since = Some(now);
        state.connections += 1;
        // The new connection may lead to another server, with another clock.
        state.clock = None;
    }

    /// Records the command that gives the user of a new connection what some kinds of locks need.
    pub(in crate::redis) fn lacks(&self, mend: Option<Arc<str>>) {
        self.state.lock().mend = mend;
    }

    /// Records that there is no connection, for the reason `error`.
    pub(in crate::redis) fn disconnected(&self, was_connected: bool, error: &NodeError) {
        let mut state = self.state.lock();
        if was_connected || state.since.is_none() {
            state.since = Some(Instant::now());
        }
        state.connected -= usize::from(was_connected);
        state.clock = None;
        drop(state);
        self.record_error(error);
    }

    /// Records a fault of the connection or of the server.
    pub(in crate::redis) fn record_error(&self, error: &NodeError) {
        self.state.lock().last_error = Some((error.clone(), Instant::now()));
        self.trouble.notify_one();
    }

    /// Counts operations that were not served.
    pub(in crate::redis) fn failed(&self, kind: NodeErrorKind, operations: usize) {
        *self.state.lock().errors.entry(kind).or_default() += operations as u64;
        self.trouble.notify_one();
    }

    /// The number of answers.
    pub(in crate::redis) fn answers(&self) -> u64 {
        self.answers.load(Relaxed)
    }

    /// Counts an answer that took the time `after`.
    pub(in crate::redis) fn answered(&self, after: Duration) {
        let after = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        let (answers, smoothed) = (self.answers(), self.latency.load(Relaxed));
        // Smoothed like the round trips of TCP (RFC 6298).
        let smoothed = match answers {
            0 => after,
            _ => smoothed - smoothed / 8 + after / 8,
        };
        self.latency.store(smoothed, Relaxed);
        self.answers.store(answers + 1, Relaxed);
    }

    /// Records by how much the node's clock is ahead of this host's, and how exact that is.
    pub(in crate::redis) fn read_clock(&self, ahead_us: i64, within: Duration) {
        let at = Instant::now();
        let reading = ClockReading {
            ahead_us,
            within,
            at,
        };
        self.state.lock().clock = Some(reading);
    }

    /// The figures known here. The other fields keep their defaults.
    pub(in crate::redis) fn health(&self, now: Instant) -> NodeHealth {
        let answers = self.answers();
        let state = self.state.lock();
        let last_error = state.last_error.as_ref();
        NodeHealth {
            is_connected: state.connected > 0,
            since: state.since.map(|at| now.saturating_duration_since(at)),
            connections: state.connections,
            answers,
            latency: (answers > 0).then(|| Duration::from_nanos(self.latency.load(Relaxed))),
            errors: state.errors.clone(),
            last_error: last_error.map(|(error, at)| LastError {
                error: error.clone(),
                ago: now.saturating_duration_since(*at),
            }),
            clock: state.clock.map(|reading| ClockOffset {
                ahead_us: reading.ahead_us,
                within: reading.within,
                ago: now.saturating_duration_since(reading.at),
            }),
            mend: state.mend.clone(),
            ..NodeHealth::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn latency_is_smoothed() {
        let metrics = NodeMetrics::default();
        let latency = || metrics.health(Instant::now()).latency;
        assert_eq!(latency(), None);
        metrics.answered(ms(80));
        assert_eq!(latency(), Some(ms(80)));
        metrics.answered(ms(8));
        assert_eq!(latency(), Some(ms(71)));
        assert_eq!(metrics.answers(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_not_connected_since_the_connection_broke_and_not_since_the_last_attempt() {
        let metrics = NodeMetrics::default();
        metrics.connected(Instant::now());
        tokio::time::advance(ms(5)).await;
        for (was_connected, detail) in [
            (true, "closed"),
            (false, "refused"),
            (false, "refused still"),
        ] {
            let error = NodeError::unsent(NodeErrorKind::NotConnected, detail);
            metrics.disconnected(was_connected, &error);
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
