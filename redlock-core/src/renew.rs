//! Renewal: a lease that extends itself.

use std::time::Duration;

use crate::environment::Moment;
use crate::error::{ExtendError, Over};
use crate::lease::LeaseHandle;
use crate::race::before;
use crate::request::{Renewal, Request, check_ttl};

/// A renewal that found no majority is tried again after a third of what is left, but not sooner.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

impl LeaseHandle {
    /// Starts the renewal that `request` asks for. It ends by itself when the lease does; it never
    /// keeps a lock: what it holds is a handle.
    pub(crate) fn renew(&self, request: &Request) {
        let end = match request.renewal {
            Renewal::Never => return,
            Renewal::For(held) => self.shared.acquired_at.saturating_add(held),
            Renewal::Unlimited => Moment::from_origin(Duration::MAX),
        };
        let (lease, ttl) = (self.clone(), request.ttl);
        let spawner = &self.shared.client.environment.spawner;
        spawner.spawn(Box::pin(async move { lease.keep(ttl, end).await }));
    }

    /// Extends the lease by `ttl` each time that a third of its validity has passed, up to `end`.
    async fn keep(self, ttl: Duration, end: Moment) {
        let clock = self.shared.clock();
        // When the lease last got its whole validity.
        let mut renewed = self.shared.acquired_at;
        let mut pause = None;
        loop {
            let due = pause.take().unwrap_or_else(|| {
                let validity = self.shared.deadline().saturating_since(renewed);
                renewed.saturating_add(validity / 3)
            });
            if before(clock, due, self.lost()).await.is_some() {
                return;
            }
            let now = clock.now();
            // Not beyond the end, and no less than a ttl may be, in whole milliseconds.
            let left = end.saturating_since(now).min(ttl);
            let left = Duration::from_millis(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
            if check_ttl(left, self.shared.clock_drift_factor).is_err() {
                // Too little for another validity.
                return;
            }
            match self.extend(left).await {
                // It has its last validity.
                Ok(()) if now.saturating_add(ttl) >= end => return,
                Ok(()) => renewed = now,
                Err(ExtendError::Unavailable(error)) => {
                    let now = clock.now();
                    let left = self.shared.deadline().saturating_since(now);
                    tracing::warn!(
                        resource = %self.resource(), token = self.token_id(), %error,
                        "lease not renewed; its validity still stands",
                    );
                    pause = Some(now.saturating_add((left / 3).max(SHORTEST_PAUSE)));
                }
                // Its holder let go of it meanwhile.
                Err(ExtendError::Over(Over::Released)) => return,
                Err(error) => {
                    tracing::warn!(
                        resource = %self.resource(), token = self.token_id(), %error,
                        "lease not renewed, and over",
                    );
                    return;
                }
            }
        }
    }
}
