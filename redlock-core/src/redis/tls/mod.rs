//! TLS: the certificates that a connection trusts and shows.
//!
//! There is no way to switch the verification off.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod files;
mod options;
#[cfg(feature = "tls")]
mod present;

#[cfg(not(feature = "tls"))]
pub(super) use absent::{Tls, provide_cryptography, tls_error};
pub use options::TlsOptions;
#[cfg(feature = "tls")]
pub(super) use present::{Tls, provide_cryptography, tls_error};
