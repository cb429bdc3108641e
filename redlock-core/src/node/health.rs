//! Figures about a node, for operators.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{NodeError, NodeErrorKind};

/// The health of a node, in figures for people and graphs. Votes do not depend on them. A node of your own sets the
/// figures that it has:
///
/// ```
/// use redlock_core::node::NodeHealth;
///
/// let mut health = NodeHealth::default();
/// health.server = Some("db.example:5432".to_owned());
/// health.is_connected = true;
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NodeHealth {
    /// The server's address, without user and password; `None` for a node in this process.
    pub server: Option<String>,
    /// True if the node has a connection. The server may still be in its first check, or be suspect.
    pub is_connected: bool,
    /// The time since [`is_connected`](Self::is_connected) last changed, if known.
    pub since: Option<Duration>,
    /// The number of connections made, with the present one.
    pub connections: u64,
    /// The number of answers to operations, and to checks of an idle connection.
    pub answers: u64,
    /// The time from the submission of an operation to its answer: in the queue, on the network and in the server. The
    /// figure is a moving average, in which each answer weighs one eighth; `None` before the first answer.
    pub latency: Option<Duration>,
    /// The number of operations that wait for their answer.
    pub in_flight: usize,
    /// The number of failed operations, for each reason that occurred.
    pub errors: BTreeMap<NodeErrorKind, u64>,
    /// The last error of the connection or of the server, even after a recovery.
    pub last_error: Option<LastError>,
    /// The node's clock, compared with this host's at the last check of this connection.
    pub clock: Option<ClockOffset>,
    /// The command that adds missing permissions, `ACL SETUSER …`, to run on the server. It is set if the user lacked
    /// permissions for some kinds of locks when the connection was made.
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

/// A node's clock, compared with this host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockOffset {
    /// The lead of the node's clock, in µs; negative if the node's clock is late.
    pub ahead_us: i64,
    /// The uncertainty of the figure: half the round trip.
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
