//! The faults of an in-process node.

use crate::node::{NodeError, NodeErrorKind};

/// A fault of a node.
#[derive(Clone, Default)]
pub(super) enum Fault {
    #[default]
    None,
    /// It cannot be reached.
    Cut,
    /// The node accepts operations and answers none, until it is restored.
    Hangs,
    /// It answers everything with this error.
    Fails(Box<str>),
}

impl Fault {
    /// The reason why the node does not vote, if it does not.
    pub(super) fn reason(&self) -> Option<NodeError> {
        match self {
            Self::None => None,
            Self::Cut => Some(NodeError::unsent(NodeErrorKind::NotConnected, "cut off")),
            Self::Hangs => Some(NodeError::sent(NodeErrorKind::TimedOut, "it hangs")),
            Self::Fails(error) => Some(NodeError::server(error.as_bytes())),
        }
    }
}
