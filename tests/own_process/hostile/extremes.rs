//! The longest and shortest times that there are, through the object style and the configuration.

use std::time::Duration;

use redlock_runtime::parameters::{LockOptions, Wait};
use redlock_runtime::{Config, Redlock, lock};

const EXTREMES: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_nanos(1),
    Duration::from_secs(u64::MAX / 1000),
    Duration::MAX,
];

#[tokio::test]
async fn no_time_is_so_long_or_short_that_a_call_panics() {
    let memory = Config::new().pool("a", "memory://a");
    let redlock = Redlock::start(memory.clone()).await.unwrap();
    let (config, r) = (|| memory.clone(), || lock("r"));
    let with = |defaults| config().defaults(defaults);
    for extreme in EXTREMES {
        let calls = async {
            for lock in [
                r().ttl(extreme),
                r().wait(extreme),
                r().retry_delay(extreme),
                r().min_validity(extreme),
                r().max_hold(extreme),
                r().once_per(extreme),
                r().wait(Wait::For(extreme)).retry_delay(extreme),
            ] {
                if let Ok(lease) = lock.acquire().await {
                    let _ = lease.extend(extreme).await;
                    lease.release().await;
                }
            }
        };
        redlock.registry().clone().scope(calls).await;
        for config in [
            config().handover_time(extreme),
            with(LockOptions::new().wait(extreme).retry_delay(extreme)),
            with(LockOptions::new().max_hold(extreme)),
            config().node_timeout(extreme),
            config().connect_timeout(extreme),
            config().shutdown_grace(extreme).shutdown_deadline(extreme),
            config().max_waiters_per_lock(0).max_waiters(0),
            with(LockOptions::new().ttl(extreme)).max_ttl(extreme),
        ] {
            let Ok(redlock) = Redlock::start(config).await else {
                continue;
            };
            let call = async {
                let one = r().acquire().await;
                // The second one waits.
                let other = r().wait(extreme).retry_delay(extreme).acquire();
                let _ = tokio::time::timeout(Duration::from_millis(20), other).await;
                drop(one);
            };
            redlock.registry().clone().scope(call).await;
            redlock.shutdown().await;
        }
    }
}
