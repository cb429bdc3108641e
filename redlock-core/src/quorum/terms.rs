//! What a majority granted: from when on, until when, and with which fencing token.

use crate::env::Moment;

use super::fencing::FencingToken;

/// The terms on which a lease is given.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    /// When the attempt began, or when the claim was taken over.
    pub(crate) acquired_at: Moment,
    /// When the votes were in.
    pub(crate) granted_at: Moment,
    pub(crate) deadline: Moment,
    /// When only a third of the validity is left.
    pub(crate) expiring: Moment,
    pub(crate) fencing_token: Option<FencingToken>,
}
