//! The reasons why there is no connection, as text for the log and for callers.
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use crate::node::{NodeError, NodeErrorKind};
use crate::redis::address::Server;

/// The detail if the server closed the connection.
pub(in crate::redis) const CLOSED: &str = "the server closed the connection";

/// The detail if bytes are no reply.
pub(in crate::redis) const GARBLED: &str = "the server does not speak the Redis protocol";

/// An error for an operation that was never sent.
pub(in crate::redis) fn not_connected(detail: impl Into<Arc<str>>) -> NodeError {
    NodeError::unsent(NodeErrorKind::NotConnected, detail)
}

/// The same for an error with which the server answered a step of the handshake.
pub(in crate::redis) fn rejected(answer: &str) -> NodeError {
    rejected_as(answer, answer)
}

/// The same, with more words than those of the server.
pub(in crate::redis) fn rejected_as(answer: &str, detail: &str) -> NodeError {
    const DENIALS: [&str; 3] = ["WRONGPASS", "NOAUTH", "NOPERM"];
    if DENIALS.iter().any(|code| answer.starts_with(code)) {
        return NodeError::unsent(NodeErrorKind::Denied, detail);
    }
    not_connected(detail)
}

/// An error for operations that may have been sent, on a closed connection.
pub(in crate::redis) fn lost(detail: impl Into<Arc<str>>) -> NodeError {
    NodeError::sent(NodeErrorKind::Disconnected, detail)
}

/// An error for bytes that are no reply.
pub(in crate::redis) fn garbled() -> NodeError {
    NodeError::sent(NodeErrorKind::Protocol, GARBLED)
}

/// The errors of several servers as one, with the kind of the first that says more than that there is no connection.
pub(in crate::redis) fn together(errors: &[(Server, NodeError)]) -> NodeError {
    const MOST_NAMED: usize = 3;
    let mut kinds = errors.iter().map(|(_, error)| error.kind());
    let kind = kinds.find(|kind| *kind != NodeErrorKind::NotConnected);
    // In order, so that the log omits what it says already.
    let named: BTreeSet<_> = errors
        .iter()
        .map(|(server, error)| format!("{server}: {error}"))
        .collect();
    let named: Vec<_> = named.into_iter().take(MOST_NAMED).collect();
    NodeError::unsent(
        kind.unwrap_or(NodeErrorKind::NotConnected),
        named.join("; "),
    )
}

/// `connection refused` rather than `Connection refused (os error 111)`.
pub(in crate::redis) fn describe(error: &io::Error) -> String {
    match (error.raw_os_error(), error.kind()) {
        // Also over TLS, if the server closed the connection without `close_notify`.
        (None, io::ErrorKind::UnexpectedEof) => CLOSED.to_owned(),
        (Some(_), kind) => kind.to_string(),
        (None, _) => {
            let text = error.to_string();
            // An expired certificate is named with the present time, and the log leaves a line out only if its text is the
            // last one.
            let timeless = text.split(": verification time").next();
            timeless.unwrap_or_default().to_owned()
        }
    }
}
