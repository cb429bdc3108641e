//! A connection to a server: its socket, TLS, the handshake, and the judgement whether a lock may
//! rely on the server.

pub(super) mod backoff;
pub(super) mod errors;
pub(super) mod handshake;
pub(super) mod socket;
pub(super) mod tls;
pub(super) mod vetting;
