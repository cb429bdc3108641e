//! The reasons why there is no connection, as text for the log and for callers.
use std::collections::BTreeSet;
use std::fmt::Display;
use std::io;
use std::sync::Arc;

use crate::model::brief::system_words;
use crate::node::{NodeError, NodeErrorKind};

/// The detail if the server closed the connection.
pub(super) const CLOSED: &str = "the server closed the connection";

/// The detail if bytes are no reply.
pub(super) const GARBLED: &str = "the server does not speak the Redis protocol";

/// An error for an operation that was never sent.
pub(super) fn not_connected(detail: impl Into<Arc<str>>) -> NodeError {
    NodeError::unsent(NodeErrorKind::NotConnected, detail)
}

/// The same for an error with which the server answered a step of the handshake.
pub(super) fn rejected(error: NodeError) -> NodeError {
    match error.kind() {
        NodeErrorKind::Denied => error.into_unsent(),
        _ => not_connected(error.to_string()),
    }
}

/// An error for operations that may have been sent, on a closed connection.
pub(super) fn lost(detail: impl Into<Arc<str>>) -> NodeError {
    NodeError::sent(NodeErrorKind::Disconnected, detail)
}

/// An error for bytes that are no reply.
pub(super) fn garbled() -> NodeError {
    NodeError::sent(NodeErrorKind::Protocol, GARBLED)
}

/// The detail if a server has become a replica, and takes no writes.
pub(super) const IS_REPLICA: &str = "the server is a replica now";

/// The errors of several servers as one, with the kind of the first that says more than that there is no connection.
pub(super) fn together(errors: &[(impl Display, NodeError)]) -> NodeError {
    const MOST_NAMED: usize = 3;
    let mut kinds = errors.iter().map(|(_, error)| error.kind());
    let kind = kinds.find(|kind| *kind != NodeErrorKind::NotConnected);
    // In order, so that the log omits what it says already.
    let named: BTreeSet<_> = errors
        .iter()
        .map(|(server, error)| format!("{server}: {error}"))
        .collect();
    let named = named.into_iter().take(MOST_NAMED).collect::<Vec<_>>();
    let kind = kind.unwrap_or(NodeErrorKind::NotConnected);
    NodeError::unsent(kind, named.join("; "))
}

/// Returns the words of the system, or of TLS, for an error.
pub(super) fn describe(error: &io::Error) -> String {
    match (error.raw_os_error(), error.kind()) {
        // Also over TLS, if the server closed the connection without `close_notify`.
        (None, io::ErrorKind::UnexpectedEof) => CLOSED.to_owned(),
        (Some(_), _) => system_words(error),
        (None, _) => {
            let text = error.to_string();
            // An expired certificate is named with the present time, and the log leaves a line out only if its text is the
            // last one.
            let timeless = text.split(": verification time").next();
            timeless.unwrap_or_default().to_owned()
        }
    }
}
