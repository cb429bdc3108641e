//! The faults of an in-process node.

use crate::node::{NodeError, NodeErrorKind};

/// A fault of a node.
#[derive(Clone, Default)]
#[cfg_attr(
    not(any(test, feature = "testing")),
    expect(dead_code, reason = "only tests break a node")
)]
pub(super) enum NodeFault {
    #[default]
    None,
    /// The node cannot be reached.
    Cut,
    /// The node accepts calls and answers none until it is restored.
    Hangs,
    /// The node answers every call with this error.
    Fails(Box<str>),
}

impl NodeFault {
    /// Returns the reason why the node abstains, or `None` if it votes.
    pub(super) fn reason(&self) -> Option<NodeError> {
        match self {
            Self::None => None,
            Self::Cut => Some(NodeError::unsent(NodeErrorKind::NotConnected, "cut off")),
            Self::Hangs => Some(NodeError::sent(NodeErrorKind::TimedOut, "it hangs")),
            Self::Fails(error) => Some(NodeError::server(error.as_bytes())),
        }
    }
}
