//! Renewal: a lease that extends itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::environment::Moment;
use crate::error::{ExtendError, Over};
use crate::lease::{Lease, LeaseHandle};
use crate::race::before;
use crate::request::{Renewal, Request, check_ttl, drift};

/// A renewal that found no majority is tried again after a third of what is left, but not sooner.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

impl Lease {
    /// Starts the renewal that `request` asks for, counted from `began`. It ends by itself when
    /// this holder leaves, or the lease is over; it never keeps a lock: what it holds is a handle.
    pub(crate) fn renew(&mut self, request: &Request, began: Moment) {
        let end = match request.renewal {
            Renewal::Never => return,
            Renewal::For(held) => began.saturating_add(held),
            Renewal::Unlimited => Moment::from_origin(Duration::MAX),
        };
        let has_left = Arc::clone(self.renewed.get_or_insert_default());
        let (lease, ttl) = (self.handle(), request.ttl);
        let spawner = &self.shared.client.environment.spawner;
        spawner.spawn(Box::pin(async move {
            lease.keep(ttl, end, &has_left).await;
        }));
    }
}

impl LeaseHandle {
    /// Extends the lease by `ttl` each time that a third of its validity has passed, up to `end`.
    async fn keep(self, ttl: Duration, end: Moment, has_left: &AtomicBool) {
        let clock = self.shared.clock();
        let validity = ttl.saturating_sub(drift(ttl, self.shared.clock_drift_factor));
        let mut pause = None;
        loop {
            let due = pause.take().unwrap_or_else(|| {
                // A third of what this renewal gives has passed, whoever gave more meanwhile.
                let rest = validity.saturating_sub(validity / 3);
                self.shared.deadline().saturating_sub(rest)
            });
            if before(clock, due, self.gone(has_left)).await.is_some() {
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
                Ok(()) => {}
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

    /// Waits until the holder has left or the lease is over.
    async fn gone(&self, has_left: &AtomicBool) {
        loop {
            let changed = self.shared.changed.notified();
            if has_left.load(Ordering::Acquire) || self.over().is_some() {
                return;
            }
            before(self.shared.clock(), self.shared.deadline(), changed).await;
        }
    }
}
