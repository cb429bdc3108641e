//! Forgetting in time what a client keeps for a moment.

use std::sync::Arc;
use std::time::Duration;

use super::Moment;
use super::environment::Environment;

const EVERY: Duration = Duration::from_secs(1);

/// Keeps things for a moment, and with them nodes. Without a sweep it would forget them only once the client is used
/// again, and the connections of nodes that the application has dropped would stay open until then.
pub(crate) trait Keeps: Send + Sync + 'static {
    /// Forgets what is no longer needed. True if there is something left.
    fn forget(&self, now: Moment) -> bool;
}

/// Has `kept` forget every second, until nothing is left.
pub(crate) fn sweep<T: Keeps>(environment: &Environment, kept: &Arc<T>) {
    let (clock, kept) = (Arc::clone(&environment.clock), Arc::downgrade(kept));
    let mut next = clock.now().saturating_add(EVERY);
    environment.spawner.spawn(Box::pin(async move {
        loop {
            clock.sleep_until(next).await;
            let now = clock.now();
            let is_any_left = kept.upgrade().is_some_and(|kept| kept.forget(now));
            if !is_any_left {
                return;
            }
            next = now.saturating_add(EVERY);
        }
    }));
}
