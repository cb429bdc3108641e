//! TLS: the certificates that a connection trusts and shows.
//!
//! There is no way to switch the verification off.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod files;
mod options;
#[cfg(feature = "tls")]
mod secure;

#[cfg(not(feature = "tls"))]
pub(super) use absent::Tls;
pub use options::TlsOptions;
#[cfg(feature = "tls")]
pub(super) use secure::Tls;
