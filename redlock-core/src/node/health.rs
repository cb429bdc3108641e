//! What is known of a node beyond whether it votes, for whoever looks after it.

use std::time::Duration;

use super::{NodeError, NodeErrorKind, NodeStatus};

/// How a node has been doing. Figures for people and graphs: no vote depends on them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NodeHealth {
    /// Where the server is, without user and password; `None` for a node in this process.
    pub server: Option<String>,
    /// Whether there is a connection. It may still be looked at, or suspect.
    pub is_connected: bool,
    /// How long [`is_connected`](Self::is_connected) has been what it is, where that is known.
    pub since: Option<Duration>,
    /// How many connections have been made, the present one included.
    pub connections: u64,
    /// How many answers there have been: to operations, and to the checks of an idle connection.
    pub answers: u64,
    /// How long they took; `None` before the first.
    pub latency: Option<Latency>,
    /// Operations that were submitted and are not answered.
    pub in_flight: usize,
    /// Operations that the node did not serve, by reason.
    pub errors: ErrorCounts,
    /// What went wrong last with the connection, or on the server. Also where all is well by now.
    pub last_error: Option<LastError>,
    /// The node's clock against this host's, as of the last check of this connection.
    pub clock: Option<ClockOffset>,
    /// Whether the node is being watched for released locks, on a second connection.
    pub is_watched: bool,
}

impl NodeHealth {
    /// What the status alone says, of a node that keeps no figures.
    pub fn of_status(status: &NodeStatus) -> Self {
        Self {
            is_connected: matches!(status, NodeStatus::Voting),
            ..Self::default()
        }
    }
}

/// Of a node that is several servers: sums, and the worst of what has no sum.
impl NodeHealth {
    pub(crate) fn of_parts(parts: impl Iterator<Item = Self>) -> Self {
        parts.fold(Self::default(), Self::and)
    }

    /// With the sums of parts that are none any more, and what went wrong with them: nothing else of
    /// these says how the node is.
    pub(crate) fn and_past(self, past: Self) -> Self {
        let total = past.latency.map_or(Duration::ZERO, |it| it.total);
        let latency = self.latency.map(|it| Latency {
            total: it.total.saturating_add(total),
            ..it
        });
        let before = past.latency.map(|_| Latency {
            last: Duration::ZERO,
            smoothed: Duration::ZERO,
            longest: None,
            total,
        });
        let errors = self.errors;
        let last_errors = [self.last_error, past.last_error].into_iter().flatten();
        Self {
            connections: self.connections + past.connections,
            answers: self.answers + past.answers,
            latency: latency.or(before),
            errors: ErrorCounts::from_fn(|kind| errors.of(kind) + past.errors.of(kind)),
            last_error: last_errors.min_by_key(|error| error.ago),
            ..self
        }
    }

    fn and(self, other: Self) -> Self {
        let since = if self.is_connected == other.is_connected {
            [self.since, other.since].into_iter().flatten().min()
        } else if self.is_connected {
            self.since
        } else {
            other.since
        };
        let worse_clock = |clock: &ClockOffset| clock.ahead_us.unsigned_abs();
        let (errors, others) = (self.errors, other.errors);
        let last_errors = [self.last_error, other.last_error].into_iter().flatten();
        Self {
            server: None,
            is_connected: self.is_connected || other.is_connected,
            since,
            connections: self.connections + other.connections,
            answers: self.answers + other.answers,
            latency: match (self.latency, other.latency) {
                (Some(one), Some(other)) => Some(one.and(other)),
                (one, other) => one.or(other),
            },
            in_flight: self.in_flight + other.in_flight,
            errors: ErrorCounts::from_fn(|kind| errors.of(kind) + others.of(kind)),
            last_error: last_errors.min_by_key(|error| error.ago),
            clock: [self.clock, other.clock]
                .into_iter()
                .flatten()
                .max_by_key(worse_clock),
            is_watched: self.is_watched || other.is_watched,
        }
    }
}

impl Latency {
    fn and(self, other: Self) -> Self {
        Self {
            last: self.last.max(other.last),
            smoothed: self.smoothed.max(other.smoothed),
            longest: self.longest.max(other.longest),
            total: self.total.saturating_add(other.total),
        }
    }
}

/// How long a node's answers take, from the submission to the answer: the time in the queue, on
/// the way and in the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Latency {
    /// Of the last answer.
    pub last: Duration,
    /// A moving average, to which an answer adds an eighth.
    pub smoothed: Duration,
    /// The longest of the last half minute to minute; `None` where there was no answer.
    pub longest: Option<Duration>,
    /// The sum over all answers, so that two readings have a mean between them.
    pub total: Duration,
}

/// An error, and how long ago it was.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LastError {
    /// What went wrong.
    pub error: NodeError,
    /// How long ago.
    pub ago: Duration,
}

/// A node's clock against this host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockOffset {
    /// By how many µs it is ahead; negative where it is behind.
    pub ahead_us: i64,
    /// By how much the figure may be wrong: half of the round trip.
    pub within: Duration,
    /// How long ago it was read.
    pub ago: Duration,
    /// It is further than a second from what the nodes' clocks show in the median, and the node has
    /// no say in fenced locks.
    pub is_outlier: bool,
}

/// How often each kind of error was an operation's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorCounts([u64; NodeErrorKind::ALL.len()]);

impl ErrorCounts {
    /// How often it was this kind.
    pub fn of(&self, kind: NodeErrorKind) -> u64 {
        self.0[kind as usize]
    }

    /// Each kind, also those that never came up.
    pub fn iter(&self) -> impl Iterator<Item = (NodeErrorKind, u64)> {
        NodeErrorKind::ALL.into_iter().zip(self.0)
    }

    /// How often it was any.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) fn from_fn(mut count: impl FnMut(NodeErrorKind) -> u64) -> Self {
        Self(NodeErrorKind::ALL.map(&mut count))
    }
}

impl NodeErrorKind {
    /// All there are.
    pub const ALL: [Self; 9] = [
        Self::NotConnected,
        Self::Disconnected,
        Self::TimedOut,
        Self::Saturated,
        Self::Server,
        Self::Protocol,
        Self::Quarantined,
        Self::Refused,
        Self::Clock,
    ];

    /// The kind as a word, for labels: `not_connected`, `timed_out` …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotConnected => "not_connected",
            Self::Disconnected => "disconnected",
            Self::TimedOut => "timed_out",
            Self::Saturated => "saturated",
            Self::Server => "server",
            Self::Protocol => "protocol",
            Self::Quarantined => "quarantined",
            Self::Refused => "refused",
            Self::Clock => "clock",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_counted_in_its_own_place() {
        for kind in NodeErrorKind::ALL {
            let counts = ErrorCounts::from_fn(|it| u64::from(it == kind));
            assert_eq!((counts.of(kind), counts.total()), (1, 1));
            assert!(counts.iter().all(|(it, n)| n == u64::from(it == kind)));
        }
    }
}
