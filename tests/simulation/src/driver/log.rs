//! What servers did, as they know it themselves.

use std::fmt;

/// What was asked of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Acquire,
    Confirm,
    Extend,
    Restore,
    Shorten,
    Release,
    Inspect,
}

/// What it came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Did {
    /// With what the counters stand at.
    Granted(Option<u64>),
    /// The holder, if the answer names it.
    Held(Option<Vec<u8>>),
    Absent,
    /// `PTTL`'s answer.
    Left(i64),
    /// Nothing; the answer is this error.
    Error(String),
}

/// One operation that a server was asked for.
#[derive(Clone, Debug)]
pub(super) struct Served {
    /// In µs.
    pub(super) at: u64,
    pub(super) host: String,
    pub(super) connection: u64,
    /// Its client had left the connection already, and may have undone it elsewhere.
    pub(super) is_late: bool,
    /// The server has a successor, which will never hear of it.
    pub(super) is_in_vain: bool,
    pub(super) kind: Kind,
    pub(super) key: Vec<u8>,
    pub(super) token: Vec<u8>,
    /// The ttl, or the counter.
    pub(super) number: u64,
    pub(super) did: Did,
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = String::from_utf8_lossy(&self.token);
        let random = token.rsplit('/').next().unwrap_or_default();
        write!(
            f,
            "{:>9} µs {} #{}{}{} {:?} {} by {:.6} with {}: {:?}",
            self.at,
            self.host,
            self.connection,
            if self.is_late { " late" } else { "" },
            if self.is_in_vain { " in vain" } else { "" },
            self.kind,
            self.key.escape_ascii(),
            random,
            self.number,
            self.did,
        )
    }
}
