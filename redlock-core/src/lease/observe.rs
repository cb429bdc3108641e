//! An observer of extensions. Core keeps no metrics of its own; an exporter counts by this.

use crate::error::ExtendError;

/// Hears what comes of a lease's extensions. See
/// [`LeaseHandle::observe_extensions`](crate::LeaseHandle::observe_extensions).
pub trait ObserveExtensions: Send + Sync {
    /// An extension that was sent, by hand or by the renewal, came to this. Must not block.
    fn extended(&self, outcome: Result<(), &ExtendError>);
}
