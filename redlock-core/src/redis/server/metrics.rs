//! The figures of one node.
//!
//! An answer costs a few plain stores and reads no clock. Errors, checks and changes of the connection
//! take a mutex.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::refusals::Refusals;
use crate::node::NodeHealth;
use crate::node::{ClockOffset, ErrorCounts, LastError, Latency, NodeError, NodeErrorKind};

/// The length of a window. The longest latency is that of the present window and the one before.
const WINDOW: Duration = Duration::from_secs(30);

/// The figures of a node, over all its connections.
pub(in crate::redis) struct NodeMetrics {
    began: Instant,
    latency: Latencies,
    /// The number of errors of each kind, in the order of [`NodeErrorKind::ALL`].
    errors: [AtomicU64; NodeErrorKind::ALL.len()],
    pub(super) refusals: Refusals,
    state: Mutex<ConnectionState>,
}

/// Latencies in ns. Only the driver writes them, so a load and a store make an update.
#[derive(Default)]
struct Latencies {
    answers: AtomicU64,
    last: AtomicU64,
    smoothed: AtomicU64,
    total: AtomicU64,
    longest: AtomicU64,
    longest_before: AtomicU64,
    /// The beginning of the present window, counted from the node's.
    window: AtomicU64,
}

struct ConnectionState {
    is_connected: bool,
    since: Instant,
    connections: u64,
    last_error: Option<(NodeError, Instant)>,
    clock: Option<ClockReading>,
}

/// The node's clock compared with this host's, by one check.
#[derive(Clone, Copy)]
pub(super) struct ClockReading {
    pub(super) ahead_us: i64,
    pub(super) within: Duration,
    pub(super) at: Instant,
}

impl NodeMetrics {
    pub(in crate::redis) fn new() -> Self {
        let began = Instant::now();
        Self {
            began,
            latency: Latencies::default(),
            errors: Default::default(),
            refusals: Refusals::default(),
            state: Mutex::new(ConnectionState {
                is_connected: false,
                since: began,
                connections: 0,
                last_error: None,
                clock: None,
            }),
        }
    }

    pub(super) fn connected(&self, now: Instant) {
        self.refusals.voted();
        let mut state = self.state.lock();
        state.is_connected = true;
        state.since = now;
        state.connections += 1;
        // The new connection may lead to another server, with another clock.
        state.clock = None;
    }

    /// Records that there is no connection, for the reason `error`.
    pub(super) fn disconnected(&self, error: &NodeError) {
        let now = Instant::now();
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.is_connected, false) {
            state.since = now;
        }
        state.clock = None;
        state.last_error = Some((error.clone(), now));
    }

    /// Records a fault of the connection or of the server.
    pub(in crate::redis) fn record_error(&self, error: &NodeError) {
        self.state.lock().last_error = Some((error.clone(), Instant::now()));
    }

    /// Counts operations that were not served.
    pub(in crate::redis) fn failed(&self, kind: NodeErrorKind, operations: usize) {
        self.errors[kind as usize].fetch_add(operations as u64, Relaxed);
    }

    /// Moves the window on. Call it when answers have come, before they are counted.
    pub(in crate::redis) fn heard(&self, now: Instant) {
        let (it, now) = (&self.latency, self.nanos(now));
        let age = now.saturating_sub(it.window.load(Relaxed));
        if age >= nanos(WINDOW) {
            let before = if age < nanos(2 * WINDOW) {
                it.longest.load(Relaxed)
            } else {
                0
            };
            it.longest_before.store(before, Relaxed);
            it.longest.store(0, Relaxed);
            it.window.store(now, Relaxed);
        }
    }

    /// The number of answers.
    pub(in crate::redis) fn answers(&self) -> u64 {
        self.latency.answers.load(Relaxed)
    }

    /// Counts an answer that took the time `after`.
    pub(in crate::redis) fn answered(&self, after: Duration) {
        let (it, after) = (&self.latency, nanos(after));
        let answers = it.answers.load(Relaxed);
        let smoothed = it.smoothed.load(Relaxed);
        // Smoothed like the round trips of TCP (RFC 6298).
        let smoothed = match answers {
            0 => after,
            _ => smoothed - smoothed / 8 + after / 8,
        };
        it.smoothed.store(smoothed, Relaxed);
        it.last.store(after, Relaxed);
        it.longest
            .store(it.longest.load(Relaxed).max(after), Relaxed);
        it.total
            .store(it.total.load(Relaxed).wrapping_add(after), Relaxed);
        it.answers.store(answers + 1, Relaxed);
    }

    /// Adds the sums of a server that is no longer a part of the node. Not for a node that counts
    /// answers of its own: updates would get lost.
    pub(in crate::redis) fn add_retired(&self, gone: NodeHealth) {
        for (kind, count) in gone.errors.iter() {
            self.errors[kind as usize].fetch_add(count, Relaxed);
        }
        let (it, total) = (&self.latency, gone.latency.map(|it| nanos(it.total)));
        it.total.fetch_add(total.unwrap_or(0), Relaxed);
        it.answers.fetch_add(gone.answers, Relaxed);
        let now = Instant::now();
        let mut state = self.state.lock();
        state.connections += gone.connections;
        let last = gone.last_error;
        let last = last.and_then(|it| Some((it.error, now.checked_sub(it.ago)?)));
        state.last_error = [state.last_error.take(), last]
            .into_iter()
            .flatten()
            .max_by_key(|(_, at)| *at);
    }

    pub(super) fn read_clock(&self, reading: ClockReading) {
        self.state.lock().clock = Some(reading);
    }

    /// The figures known here. The other fields keep their defaults.
    pub(in crate::redis) fn health(&self, now: Instant) -> NodeHealth {
        let answers = self.answers();
        let state = self.state.lock();
        let last_error = state.last_error.as_ref();
        NodeHealth {
            is_connected: state.is_connected,
            since: Some(now.saturating_duration_since(state.since)),
            connections: state.connections,
            answers,
            latency: (answers > 0).then(|| self.latency(now)),
            errors: ErrorCounts::from_fn(|kind| self.errors[kind as usize].load(Relaxed)),
            last_error: last_error.map(|(error, at)| LastError {
                error: error.clone(),
                ago: now.saturating_duration_since(*at),
            }),
            clock: state.clock.map(|reading| ClockOffset {
                ahead_us: reading.ahead_us,
                within: reading.within,
                ago: now.saturating_duration_since(reading.at),
            }),
            ..NodeHealth::default()
        }
    }

    fn latency(&self, now: Instant) -> Latency {
        let it = &self.latency;
        let age = self.nanos(now).saturating_sub(it.window.load(Relaxed));
        let mut longest = 0;
        if age < nanos(2 * WINDOW) {
            longest = it.longest.load(Relaxed);
        }
        if age < nanos(WINDOW) {
            longest = longest.max(it.longest_before.load(Relaxed));
        }
        Latency {
            last: Duration::from_nanos(it.last.load(Relaxed)),
            smoothed: Duration::from_nanos(it.smoothed.load(Relaxed)),
            longest: (longest > 0).then(|| Duration::from_nanos(longest)),
            total: Duration::from_nanos(it.total.load(Relaxed)),
        }
    }

    fn nanos(&self, at: Instant) -> u64 {
        nanos(at.saturating_duration_since(self.began))
    }
}

/// The nanoseconds of `span`. A `u64` is enough for 584 years.
fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn latency(metrics: &NodeMetrics) -> Latency {
        metrics
            .health(Instant::now())
            .latency
            .expect("an answer has come")
    }

    #[tokio::test(start_paused = true)]
    async fn latency_is_smoothed_and_the_longest_is_forgotten_after_two_windows() {
        let metrics = NodeMetrics::new();
        assert!(metrics.health(Instant::now()).latency.is_none());
        let answer = |after| {
            metrics.heard(Instant::now());
            metrics.answered(after);
        };
        answer(ms(80));
        let first = latency(&metrics);
        assert_eq!((first.last, first.smoothed), (ms(80), ms(80)));
        answer(ms(8));
        let second = latency(&metrics);
        assert_eq!((second.last, second.smoothed), (ms(8), ms(71)));
        assert_eq!((second.longest, second.total), (Some(ms(80)), ms(88)));

        tokio::time::advance(WINDOW).await;
        assert_eq!(latency(&metrics).longest, Some(ms(80)));
        answer(ms(1));
        assert_eq!(
            latency(&metrics).longest,
            Some(ms(80)),
            "of the window before"
        );
        tokio::time::advance(WINDOW).await;
        assert_eq!(latency(&metrics).longest, Some(ms(1)));
        tokio::time::advance(WINDOW).await;
        assert_eq!(latency(&metrics).longest, None);
        answer(ms(2));
        assert_eq!(latency(&metrics).longest, Some(ms(2)));
        assert_eq!(metrics.health(Instant::now()).answers, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_not_connected_since_the_connection_broke_and_not_since_the_last_attempt() {
        let metrics = NodeMetrics::new();
        metrics.connected(Instant::now());
        tokio::time::advance(ms(5)).await;
        for detail in ["closed", "refused", "refused still"] {
            let error = NodeError::unsent(NodeErrorKind::NotConnected, detail);
            metrics.disconnected(&error);
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
