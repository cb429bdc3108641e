//! The options of a Redis node.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::node::observe::ObserveAnswers;
use crate::restart_check::CheckedSet;
use crate::setters::options;

options! {
    /// The options of a Redis node's driver.
    #[derive(Clone, Debug)]
    pub struct RedisOptions {
        /// Sets the longest time for one attempt to connect, handshake included. Default: 1 s.
        connect_timeout: Duration = Duration::from_secs(1);

        /// Sets the time after which an outstanding answer makes the node suspect. Default: 200 ms. A suspect node votes
        /// no at once, until it answers again.
        suspect_after: Duration = Duration::from_millis(200);

        /// Sets the time after which the driver replaces a connection with an outstanding answer. Default: 5 s.
        dead_after: Duration = Duration::from_secs(5);

        /// Sets the interval between checks of the node. Default: 10 s. An idle node is checked too, so that a connection
        /// that died in silence is found before a lock needs it.
        heartbeat: Duration = Duration::from_secs(10);

        /// Sets the most operations in flight. Beyond them the node votes no at once. Default: 16 384.
        max_in_flight: usize = 16_384;

        /// Sets the nodes that this one is checked with. The checks find whether the node may have forgotten locks, and
        /// whether its clock steps. Without a checked set, only the node's own clock is checked, so a server that restarts
        /// empty votes at once.
        checked_set: Option<Arc<CheckedSet>> = None, from Arc<CheckedSet>;

        /// Sets the treatment of an unreliable server.
        vetting: Vetting = Vetting::Refuse;

        /// Sets whether the server keeps all data when it restarts. Such a server has `appendfsync always`, and none of
        /// its replicas is promoted, so a restart needs no quarantine. This has no effect for an address that
        /// [fails over](crate::redis::RedisAddress::fails_over).
        trust_aof: bool = false;

        /// Sets the observer that is told how long each answer took.
        answers: Option<Arc<dyn ObserveAnswers>> = None, from Arc<dyn ObserveAnswers>;
    }
}

impl RedisOptions {
    /// Raises [`suspect_after`](Self::suspect_after) and [`dead_after`](Self::dead_after) for a client with this node
    /// timeout. Otherwise a node could be suspect although the client would still wait for it.
    #[must_use]
    pub fn for_node_timeout(mut self, timeout: Duration) -> Self {
        self.suspect_after = self.suspect_after.max(timeout * 4);
        self.dead_after = self.dead_after.max(self.suspect_after * 4);
        self
    }

    /// Returns the options with times from a millisecond to a year. So sums of times never overflow, and questions repeat
    /// only after a pause.
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

/// The treatment of a server that evicts keys, is a replica, or is unreliable in another way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Vetting {
    /// The server does not vote, and its node says why.
    #[default]
    Refuse,
    /// The server votes, and the log says why it should not.
    Warn,
}

options! {
    /// The CAs that a TLS connection trusts, and the certificate that it shows. The default trusts the CAs
    /// of the system, and shows none.
    ///
    /// The files are PEM. Each connection reads them again, so a certificate that was replaced counts from the next
    /// connection on. While the files are invalid, no new connection is made.
    #[derive(Clone, PartialEq, Eq)]
    pub struct TlsOptions {
        /// Sets the file with the trusted CAs, in place of the system's.
        ca: Option<PathBuf> = None, from impl Into<Option<PathBuf>>;

        /// Sets the file of the client's certificate. The certificates of the CAs between it and the CA that the server
        /// trusts follow in the same file.
        certificate: Option<PathBuf> = None, from impl Into<Option<PathBuf>>;

        /// Sets the file of the private key of the [`certificate`](Self::certificate), as plain text.
        key: Option<PathBuf> = None, from impl Into<Option<PathBuf>>;
    }
}
