//! Errors of connections, with their texts for callers and for the log.
use std::collections::BTreeSet;
use std::fmt::Display;
use std::io;
use std::sync::Arc;

use crate::model::brief::system_words;
use crate::node::{NodeError, NodeErrorKind};

pub(super) const CLOSED: &str = "the server closed the connection";

/// The error detail for an answer outside of the Redis protocol.
pub(super) const GARBLED: &str = "the server does not speak the Redis protocol";

/// Returns the error for an operation that was never sent.
pub(super) fn not_connected(detail: impl Into<Arc<str>>) -> NodeError {
    NodeError::unsent(NodeErrorKind::NotConnected, detail)
}

/// Turns a server's error during the handshake into the error for unsent operations. A denied login or command keeps
/// its kind, and other errors become `NotConnected`.
pub(super) fn rejected(error: NodeError) -> NodeError {
    match error.kind() {
        NodeErrorKind::Denied => error.into_unsent(),
        _ => not_connected(error.to_string()),
    }
}

/// Returns the error for operations that may have been sent on a connection that is closed now.
pub(super) fn lost(detail: impl Into<Arc<str>>) -> NodeError {
    NodeError::sent(NodeErrorKind::Disconnected, detail)
}

/// Returns the error for an answer outside of the Redis protocol.
pub(super) fn garbled() -> NodeError {
    NodeError::sent(NodeErrorKind::Protocol, GARBLED)
}

/// The error detail for a server that has become a replica, which refuses writes.
pub(super) const IS_REPLICA: &str = "the server is a replica now";

/// Combines the errors of several servers into one. Its kind is the first that says more than `NotConnected`.
pub(super) fn together(errors: &[(impl Display, NodeError)]) -> NodeError {
    const MOST_NAMED: usize = 3;
    let mut kinds = errors.iter().map(|(_, error)| error.kind());
    let kind = kinds.find(|kind| *kind != NodeErrorKind::NotConnected);
    // Sort the texts, so that the same errors give the same text. The log then omits a repeated text.
    let named: BTreeSet<_> = errors
        .iter()
        .map(|(server, error)| format!("{server}: {error}"))
        .collect();
    let named = named.into_iter().take(MOST_NAMED).collect::<Vec<_>>();
    let kind = kind.unwrap_or(NodeErrorKind::NotConnected);
    NodeError::unsent(kind, named.join("; "))
}

/// Returns the text of an I/O error, in the words of the system or of TLS.
pub(super) fn describe(error: &io::Error) -> String {
    match (error.raw_os_error(), error.kind()) {
        // TLS reports this kind for a server that closed the connection without `close_notify`.
        (None, io::ErrorKind::UnexpectedEof) => CLOSED.to_owned(),
        (Some(_), _) => system_words(error),
        (None, _) => {
            let text = error.to_string();
            // The text for an expired certificate ends with the current time. Cut the time off, because the log only
            // omits a line that equals the one before.
            let timeless = text.split(": verification time").next();
            timeless.unwrap_or_default().to_owned()
        }
    }
}
