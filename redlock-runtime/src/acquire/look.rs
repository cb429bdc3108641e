//! Looks at nodes that take no lock, and the notes that they show.

use std::fmt::{self, Write as _};
use std::time::Duration;

use redlock_core::NodeSet;
use redlock_core::peek::{ForceReleased, LockStatus};
use redlock_core::request::Note;

use super::{Prepared, Wanted};
use crate::error::{LockError, LockErrorKind};
use crate::registry::scope;

/// The note that reads as `text` is shown. Of a `Display` that fails, what it wrote until then.
pub(crate) fn shown(text: impl fmt::Display) -> Option<Note> {
    let mut note = String::new();
    let _ = write!(note, "{text}");
    Note::new(note)
}

impl Wanted {
    /// What a majority of the nodes says of the lock.
    pub(crate) async fn peek(&self) -> Result<LockStatus, LockError> {
        let Some(registry) = scope::current() else {
            return Err(self.error(LockErrorKind::NotInitialized));
        };
        let of_call = |kind| {
            let limits = &registry.shared.limits;
            self.error(kind).of_call(limits.http, &limits.throttle)
        };
        let nodes = self.nodes(&registry).map_err(of_call)?;
        let status = registry.shared.client.peek(&nodes, &self.resource).await;
        status.map_err(|invalid| of_call(LockErrorKind::Invalid(invalid)))
    }
}

impl Wanted {
    /// Deletes the lock, also if another process holds it.
    pub(crate) async fn force_release(&self) -> Result<ForceReleased, LockError> {
        let Some(registry) = scope::current() else {
            return Err(self.error(LockErrorKind::NotInitialized));
        };
        let limits = &registry.shared.limits;
        let of_call = |error: LockError| error.of_call(limits.http, &limits.throttle);
        let nodes = self.nodes(&registry);
        let nodes = nodes.map_err(|kind| of_call(self.error(kind)))?;
        let (resource, site) = (&self.resource, self.holder.site);
        let released = registry.shared.client.force_release(&nodes, resource).await;
        let name = site.site_name();
        match &released {
            Ok(done) => {
                tracing::warn!(%resource, site = name, outcome = %done, "released by force");
            }
            Err(error) => {
                tracing::warn!(%resource, site = name, %error, "not released by force");
            }
        }
        released.map_err(|error| of_call(LockError::of_acquire(error, resource.clone(), site)))
    }
}

impl Prepared {
    /// Refuses a job that ran already in its period.
    pub(super) async fn look(&self, nodes: &NodeSet, period: Duration) -> Result<(), LockError> {
        let (client, resource) = (&self.registry.shared.client, &self.request.resource);
        let looked = client.last_run(nodes, resource, period).await;
        let kind = match looked {
            Ok(None) => return Ok(()),
            Ok(Some(run)) => LockErrorKind::AlreadyRun(run),
            Err(invalid) => LockErrorKind::Invalid(invalid),
        };
        Err(self.error(kind))
    }
}
