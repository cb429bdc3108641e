//! Figures about a node beyond its vote, for operators.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{NodeError, NodeErrorKind};

/// The health of a node: figures for people and graphs. No vote depends on them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NodeHealth {
    /// The server's address, without user and password; `None` for a node in this process.
    pub server: Option<String>,
    /// True if there is a connection. The server may still be under check, or suspect.
    pub is_connected: bool,
    /// The time since [`is_connected`](Self::is_connected) last changed, if known.
    pub since: Option<Duration>,
    /// The number of connections made, the present one included.
    pub connections: u64,
    /// The number of answers to operations, and to the checks of an idle connection.
    pub answers: u64,
    /// The time from the submission of an operation to its answer: in the queue, on the network and in the
    /// server. A moving average with a weight of one eighth for each answer; `None` before the first.
    pub latency: Option<Duration>,
    /// The number of operations that were submitted and are not answered.
    pub in_flight: usize,
    /// The number of operations that the node did not serve, by reason. A reason that never was is missing.
    pub errors: BTreeMap<NodeErrorKind, u64>,
    /// The last error of the connection or of the server. It stays after a recovery.
    pub last_error: Option<LastError>,
    /// The node's clock against this host's, at the last check of this connection.
    pub clock: Option<ClockOffset>,
    /// The command to run on the server, if its user lacked a permission that some kinds of locks need when the
    /// connection was made: `ACL SETUSER …`.
    pub mend: Option<Arc<str>>,
}

/// An error and its age.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LastError {
    /// The error.
    pub error: NodeError,
    /// The time since the error.
    pub ago: Duration,
}

/// A node's clock against this host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockOffset {
    /// How far the node's clock is ahead, in µs; negative if it is behind.
    pub ahead_us: i64,
    /// The uncertainty of the figure: half of the round trip.
    pub within: Duration,
    /// The time since the reading.
    pub ago: Duration,
}

impl NodeErrorKind {
    /// All kinds.
    pub const ALL: &[Self] = &[
        Self::NotConnected,
        Self::Denied,
        Self::Disconnected,
        Self::TimedOut,
        Self::Saturated,
        Self::Server,
        Self::Protocol,
        Self::Quarantined,
        Self::Refused,
    ];

    /// Returns the kind as a word, for labels: `not_connected`, `timed_out` …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotConnected => "not_connected",
            Self::Denied => "denied",
            Self::Disconnected => "disconnected",
            Self::TimedOut => "timed_out",
            Self::Saturated => "saturated",
            Self::Server => "server",
            Self::Protocol => "protocol",
            Self::Quarantined => "quarantined",
            Self::Refused => "refused",
        }
    }
}
