//! The options of a Redis node.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::node::observe::ObserveAnswers;
use crate::restart_check::CheckedSet;

/// The options of a Redis node's driver.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RedisOptions {
    /// The longest time for one attempt to connect, handshake included.
    pub connect_timeout: Duration,
    /// If an answer is outstanding for this long, the node votes no at once until it answers again.
    pub suspect_after: Duration,
    /// If an answer is outstanding for this long, the driver closes the connection and makes a new
    /// one.
    pub dead_after: Duration,
    /// The interval at which an idle connection is tested, so that a connection that died in silence
    /// is replaced before a lock needs it. Each node is checked at this interval, idle or not.
    pub heartbeat: Duration,
    /// The most operations in flight; beyond that the node votes no at once.
    pub max_in_flight: usize,
    /// The nodes that this one is checked with. The checks find whether the node may have forgotten
    /// locks, and whether its clock steps. Without a checked set only the node's own clock is checked.
    pub checked_set: Option<Arc<CheckedSet>>,
    /// The treatment of a server that a lock cannot rely on.
    pub vetting: Vetting,
    /// The server forgets nothing when it restarts: `appendfsync always`, no replica that is
    /// promoted. Then a restart needs no quarantine. Has no effect for an address that
    /// [fails over](crate::redis::RedisAddress::fails_over).
    pub trust_aof: bool,
    /// The observer that is told how long each answer took.
    pub answers: Option<Arc<dyn ObserveAnswers>>,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(1),
            suspect_after: Duration::from_millis(200),
            dead_after: Duration::from_secs(5),
            heartbeat: Duration::from_secs(10),
            max_in_flight: 16_384,
            checked_set: None,
            vetting: Vetting::Refuse,
            trust_aof: false,
            answers: None,
        }
    }
}

impl RedisOptions {
    /// No sum of times overflows with these options, and nothing is asked without a pause.
    pub(super) fn within_bounds(mut self) -> Self {
        const SHORTEST_TIME: Duration = Duration::from_millis(1);
        const LONGEST_TIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        for time in [
            &mut self.connect_timeout,
            &mut self.suspect_after,
            &mut self.dead_after,
            &mut self.heartbeat,
        ] {
            *time = (*time).clamp(SHORTEST_TIME, LONGEST_TIME);
        }
        self
    }
}

/// The treatment of a server that a lock cannot rely on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Vetting {
    /// It does not vote, and says why.
    #[default]
    Refuse,
    /// It votes, and the log says why it should not.
    Warn,
}

/// The CAs that a TLS connection trusts, and the certificate that it shows. The default trusts the CAs
/// of the system, and shows none.
///
/// The files are PEM. They are read again at each connection, so a certificate that was replaced
/// counts from the next connection on. While the files make no sense, no new connection is made.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// The CAs that may have issued the server's certificate, in place of the system's.
    pub ca: Option<PathBuf>,
    /// The client's certificate, and behind it those of the CAs between it and the CA that the
    /// server trusts.
    pub certificate: Option<PathBuf>,
    /// The private key of [`certificate`](Self::certificate), not encrypted.
    pub key: Option<PathBuf>,
}
