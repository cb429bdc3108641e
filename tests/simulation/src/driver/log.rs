//! What servers did, as they know it themselves.

use std::fmt;

use redlock_core::node::Want;

/// What was asked of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Acquire,
    Confirm,
    Extend,
    Restore,
    Release,
    Inspect,
}

impl Kind {
    pub(super) fn of(want: Want) -> Self {
        match want {
            Want::Acquire { .. } | Want::AcquirePermit { .. } => Self::Acquire,
            Want::Confirm { .. } => Self::Confirm,
            Want::Extend { .. } => Self::Extend,
            Want::Restore { .. } => Self::Restore,
            Want::Release { .. } => Self::Release,
            _ => Self::Inspect,
        }
    }
}

/// The number that tells an operation from others with its token: its ttl in ms, or its counter.
pub(super) fn number_of(want: Want) -> u64 {
    match want {
        Want::Acquire { ttl, .. }
        | Want::AcquirePermit { ttl }
        | Want::Extend { ttl }
        | Want::Restore { ttl } => u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
        Want::Confirm { counter, .. } => counter,
        _ => 0,
    }
}

/// Its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Did {
    /// With what the counters stand at.
    Granted(Option<u64>),
    /// The same without a counter, and the place of the permit.
    Permit(Option<u16>),
    /// The holder, if the answer names it.
    Held(Option<Vec<u8>>),
    Absent,
    /// Held, for as many ms.
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
