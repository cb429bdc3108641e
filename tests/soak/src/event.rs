//! Workers write down one event a line, as JSON.

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::plan::Kind;

/// The worker, and a number that it gives out once.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub(crate) struct LeaseId(pub(crate) u32, pub(crate) u32);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Event {
    /// An acquisition succeeded.
    Enter(Held),
    /// The lease is now known to be valid until then at least. If its holder leaves, until then at most: this
    /// is written before anything is done that ends the lease.
    Until(LeaseId, Moment),
    /// The store refused the holder because it knew this token, and the lease was still valid when the
    /// holder heard of that.
    Unfit(LeaseId, u64),
    /// One more for this row of the table.
    Count(String),
    /// A worker reports a failure of its own, which fails the soak.
    Broken(String),
}

/// One lease, as its holder knows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) lease: LeaseId,
    /// The names that are locked. One permit of several is a name of its own.
    pub(crate) names: Vec<String>,
    pub(crate) kind: Kind,
    /// When the caller came.
    pub(crate) came: Moment,
    /// The winning attempt began then or later.
    pub(crate) began: Moment,
    /// The acquisition had returned by then.
    pub(crate) entered: Moment,
    /// The lease is valid until then at least, unless it ends before. Not after `entered` if it was over as
    /// soon as it was there. Of a holder that was killed: the last end that it wrote down, because it sent no
    /// release before it wrote that it leaves.
    pub(crate) until: Moment,
    pub(crate) token: Option<u64>,
}

impl Held {
    /// Returns true if other readers may hold the names as well.
    pub(crate) fn is_reader(&self) -> bool {
        self.kind == Kind::Reader
    }

    /// Returns the kind of the lock, as the table names it.
    pub(crate) fn sort(&self) -> String {
        match (self.kind, self.token) {
            (Kind::Plain, Some(_)) => "Fenced".to_owned(),
            (kind, _) => format!("{kind:?}"),
        }
    }
}
