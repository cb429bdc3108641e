//! The validity of a lease: its beginning, its deadline and its fencing token.

use crate::env::Moment;

use super::fencing::TokenBlock;

/// The validity that a lease gets from an acquisition or a hand-over.
#[derive(Clone, Copy, Default)]
pub(crate) struct Validity {
    /// The moment when the attempt began, or when the claim was taken over.
    pub(crate) attempt_began: Moment,
    /// The moment when the votes were counted.
    pub(crate) granted_at: Moment,
    pub(crate) deadline: Moment,
    /// The moment when a third of the validity is left.
    pub(crate) expiring: Moment,
    /// The fencing token, and the numbers for the leases that take the claim over.
    pub(crate) tokens: Option<TokenBlock>,
}

/// Returns the moment at which a third of the validity is left. The validity began at `started`.
pub(crate) fn third_left(started: Moment, deadline: Moment) -> Moment {
    deadline.saturating_sub(deadline.saturating_since(started) / 3)
}
