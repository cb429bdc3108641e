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

        /// Sets the time after which a node with an outstanding answer becomes suspect. Default: 200 ms. A suspect node
        /// votes no at once, until it answers again.
        suspect_after: Duration = Duration::from_millis(200);

        /// Sets the time after which the driver closes a connection with an outstanding answer. Default: 5 s. Then the
        /// driver makes a new connection.
        dead_after: Duration = Duration::from_secs(5);

        /// Sets the interval at which each node is checked, even an idle one. Default: 10 s. The check finds a connection
        /// that died in silence, so the driver replaces it before a lock needs it.
        heartbeat: Duration = Duration::from_secs(10);

        /// Sets the largest number of operations in flight. Default: 16 384. A node with this number votes no at once, but
        /// still accepts releases.
        max_in_flight: usize = 16_384;

        /// Sets the nodes with which this node is checked. The checks find out if the node may have forgotten locks, and
        /// if its clock steps. By default, without a checked set, only the node's own clock is checked, so a server that
        /// restarts empty votes at once.
        checked_set: Option<Arc<CheckedSet>> = None, from Arc<CheckedSet>;

        /// Sets the treatment of a server that is unfit for locks. Default: [`Vetting::Refuse`].
        vetting: Vetting = Vetting::Refuse;

        /// Declares that the server keeps everything across a restart. It has `appendfsync always`, and no replica is
        /// promoted. Then the node may vote at once after a restart, without a quarantine. Default: `false`. The option is
        /// ignored for an address that [fails over](crate::redis::RedisAddress::fails_over).
        trust_aof: bool = false;

        /// Sets the number of replicas that must acknowledge a write before its vote counts. Default: 0. If fewer
        /// acknowledge in [time](Self::replica_timeout), the node abstains until enough do.
        replicas: u32 = 0;

        /// Sets the time that the [`replicas`](Self::replicas) have to acknowledge a write. Default: 40 ms. Calls that
        /// are submitted during this time are sent after it, so it should be below a client's node timeout. At most
        /// half of [`suspect_after`](Self::suspect_after) counts.
        replica_timeout: Duration = Duration::from_millis(40);

        /// Sets the observer that receives the duration of each answer.
        answers: Option<Arc<dyn ObserveAnswers>> = None, from Arc<dyn ObserveAnswers>;
    }
}

impl RedisOptions {
    /// Raises [`suspect_after`](Self::suspect_after) to at least four node timeouts of a client, and
    /// [`dead_after`](Self::dead_after) to at least four times that. Otherwise a node that is only slow by the client's
    /// own measure would be suspect. Sets [`replica_timeout`](Self::replica_timeout) to four fifths of the timeout.
    #[must_use]
    pub fn for_node_timeout(mut self, timeout: Duration) -> Self {
        self.suspect_after = self.suspect_after.max(timeout * 4);
        self.dead_after = self.dead_after.max(self.suspect_after * 4);
        self.replica_timeout = timeout * 4 / 5;
        self
    }

    /// Clamps the times to a range from a millisecond to a year. Then the sums of times never overflow, and every question
    /// pauses before it repeats.
    pub(super) fn within_bounds(mut self) -> Self {
        const SHORTEST_TIME: Duration = Duration::from_millis(1);
        const LONGEST_TIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        for time in [
            &mut self.connect_timeout,
            &mut self.suspect_after,
            &mut self.dead_after,
            &mut self.heartbeat,
            &mut self.replica_timeout,
        ] {
            *time = (*time).clamp(SHORTEST_TIME, LONGEST_TIME);
        }
        self
    }
}

/// The treatment of a server that is unfit for locks. Examples are a replica, and a server that evicts keys.
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
    /// The CAs that a TLS connection trusts, and the certificate that the client shows. By default, the connection trusts
    /// the CAs of the system, and shows no certificate.
    ///
    /// The files are PEM. Each connection reads them again, so a certificate that was replaced counts from the next
    /// connection on. While the files are invalid, no new connection is made.
    #[derive(Clone, PartialEq, Eq)]
    pub struct TlsOptions {
        /// Sets the file with the trusted CAs, in place of the system's.
        ca: Option<PathBuf> = None, from impl Into<Option<PathBuf>>;

        /// Sets the file of the client's certificate. After it, the file has the certificates of the CAs between it and
        /// the CA that the server trusts.
        certificate: Option<PathBuf> = None, from impl Into<Option<PathBuf>>;

        /// Sets the file with the unencrypted private key of the [`certificate`](Self::certificate).
        key: Option<PathBuf> = None, from impl Into<Option<PathBuf>>;
    }
}
