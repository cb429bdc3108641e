//! The arguments from which a kind of lock builds its calls.

use std::time::Duration;

use crate::model::resource::Resource;
use crate::model::token::OwnerToken;

/// The arguments of [`Kind::protocol`](super::Kind::protocol), taken from a request and its client.
pub(crate) struct ProtocolArgs<'a> {
    /// The keys of the lock, with `prefix`.
    pub(crate) keys: &'a Resource,
    pub(crate) prefix: &'a [u8],
    pub(crate) is_fenced: bool,
    /// The mark to leave after a refusal. `None` if no further attempt follows.
    pub(crate) advice: Option<Advice<'a>>,
}

/// The mark of a refused caller on the nodes, so that others let it go first.
#[derive(Clone, Copy)]
pub(crate) struct Advice<'a> {
    /// The token of the caller's client, under which nodes remember the caller.
    pub(crate) client: &'a OwnerToken,
    pub(crate) lasts: Duration,
    /// The time that the caller needs to come, once a permit is free for it.
    pub(crate) call: Duration,
}
