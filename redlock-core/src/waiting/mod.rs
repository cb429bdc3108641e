//! Lines of callers in one process that want the same lock. [`QuorumWatch`] reports to an observer that a lock has
//! become free or has changed hands.
//!
//! Callers of one [`Client`](crate::Client) that want the same lock wait in one line, first come, first served. Only
//! the first of them asks the nodes. The lock goes from one of them to the next without a break in which another
//! process could take it, which is faster. After [the handover time](crate::Settings::handover_time), the lock is
//! released for other processes. The next caller of this process asks for it a moment later.

pub(crate) mod budget;
pub(crate) mod fair_share;
pub(crate) mod handed_claim;
mod line;
mod lines;
#[cfg_attr(
    not(feature = "testing"),
    allow(unreachable_pub, reason = "public in `testing`")
)]
pub(crate) mod quorum_watch;
pub(crate) mod refusal_error;
pub(crate) mod refused_attempt;
mod rivals;
#[cfg(test)]
pub(crate) mod tests;
mod turn;

pub(crate) use fair_share::HANDOVER_TIME;
pub(crate) use line::{LineKey, NoTurn};
pub(crate) use lines::{Lines, WaiterLimits};
pub use quorum_watch::QuorumWatch;
pub(crate) use turn::{ClaimOutcome, Turn};
