//! Waiting for a state of a foreign process.

use std::fmt::Debug;
use std::future::{Future, ready};
use std::panic::Location;
use std::time::{Duration, Instant};

/// The pause between two probes.
const INTERVAL: Duration = Duration::from_millis(5);

/// The longest wait of [`wait_until`].
const LONGEST: Duration = Duration::from_secs(40);

/// Calls `probe` until it returns `Ok`, at most `within` long; then panics with the last `Err`.
///
/// Tests do not sleep to synchronise: they wait for an event. The state of a foreign process (the
/// keys of a Redis server, an entry in `/proc`) sends no event to us, so it has to be looked at
/// repeatedly. This function is the only place that does so, and it is bounded.
///
/// The probe runs at least once, also when `within` is zero. Time is real time, also in a test that
/// paused tokio's clock.
///
/// # Example: wait until a key has expired
///
/// ```
/// # use redlock_tests::{RedisNode, eventually};
/// # use std::time::Duration;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # let node = RedisNode::start().await;
/// # node.set("order:42", "token", Some(Duration::from_millis(30)));
/// eventually("the lock to expire", Duration::from_secs(1), async || {
///     node.get("order:42").map_or(Ok(()), |owner| Err(format!("still owned by {owner:?}")))
/// })
/// .await;
/// # }
/// ```
#[track_caller]
pub fn eventually<T, F: Future<Output = Result<T, String>>>(
    what: &str,
    within: Duration,
    probe: impl FnMut() -> F,
) -> impl Future<Output = T> {
    eventually_for(Location::caller(), what, within, probe)
}

/// Waits until `is_so` is true of what `look` returns, and returns that.
///
/// Panics after 40 s, with the last result. A failover takes less time, even on a busy machine.
///
/// # Example: wait until a key has expired
///
/// ```
/// # use redlock_tests::{RedisNode, wait_until};
/// # use std::time::Duration;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # let node = RedisNode::start().await;
/// # node.set("order:42", "token", Some(Duration::from_millis(30)));
/// wait_until("the lock to expire", || node.get("order:42"), Option::is_none).await;
/// # }
/// ```
#[track_caller]
pub fn wait_until<T: Debug>(
    what: &str,
    mut look: impl FnMut() -> T,
    is_so: impl Fn(&T) -> bool,
) -> impl Future<Output = T> {
    let probe = move || {
        let seen = look();
        let found = is_so(&seen);
        ready(if found {
            Ok(seen)
        } else {
            Err(format!("{seen:?}"))
        })
    };
    eventually_for(Location::caller(), what, LONGEST, probe)
}

/// Does what [`eventually`] does, on behalf of another function's caller.
pub(crate) async fn eventually_for<T, F: Future<Output = Result<T, String>>>(
    caller: &Location<'_>,
    what: &str,
    within: Duration,
    mut probe: impl FnMut() -> F,
) -> T {
    let started = Instant::now();
    loop {
        let missing = match probe().await {
            Ok(value) => return value,
            Err(missing) => missing,
        };
        assert!(
            started.elapsed() < within,
            "{caller}: waited {within:?} for {what}; {missing}"
        );
        tokio::time::sleep(INTERVAL).await;
    }
}
