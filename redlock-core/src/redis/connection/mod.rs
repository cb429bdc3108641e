//! A connection to a server: its socket, the handshakes, and the checks whether a lock may rely on the
//! server.

pub(super) mod backoff;
pub(super) mod errors;
pub(super) mod handshake;
pub(super) mod movable;
pub(super) mod socket;
#[cfg(feature = "tls")]
mod tls;
pub(super) mod transfer;
pub(super) mod vetting;
