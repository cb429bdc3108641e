//! An observer of extensions. Core keeps no metrics of its own; an exporter counts with an observer.

use crate::error::ExtendError;

/// Receives the outcome of a lease's extensions. See
/// [`LeaseHandle::observe_extensions`](crate::LeaseHandle::observe_extensions).
pub trait ObserveExtensions: Send + Sync {
    /// Receives the outcome of an extension that was sent, by hand or by the renewal. Must not block.
    fn extended(&self, outcome: Result<(), &ExtendError>);
}
