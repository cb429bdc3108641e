//! A name whose look-up hangs.

use std::time::{Duration, Instant};

use redlock_runtime::config::RestartCheck;
use redlock_runtime::health::PoolHealth;
use redlock_runtime::{Config, Redlock};
use redlock_tests::redis::Client;
use redlock_tests::{RedisNode, eventually, wait_until, with_names};
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::{NAME, SOON, ip};

/// Pools of every kind that have one name, and are tried often.
fn config(port: u16) -> Config {
    let own = Client::open(format!("redis://{NAME}:1")).unwrap();
    Config::new()
        .connect_timeout(Duration::from_millis(50))
        .restart_check(RestartCheck::Off)
        .pool("a", format!("redis://{NAME}:{port}"))
        .pool("b", format!("redis+sentinel://{NAME}:2/shop"))
        .pool("c", format!("redis+cluster://{NAME}:3"))
        .pool_with("d", &own, None)
}

#[test]
fn a_look_up_that_hangs_is_joined_and_then_given_up() {
    const WATCHED: Duration = Duration::from_secs(3);
    with_names(async |names| {
        let node = RedisNode::start().await;
        names.hang(NAME);
        let redlock = Redlock::start(config(node.port())).await.unwrap();
        let began = Instant::now();
        eventually("many attempts", SOON, async || {
            let look_ups = names.under_way();
            assert!(look_ups <= 2, "{look_ups} after {:?}", began.elapsed());
            let is_over = look_ups > 0 && began.elapsed() >= WATCHED;
            is_over.then_some(()).ok_or(format!("{look_ups} look-ups"))
        })
        .await;
        // The name server answers new questions.
        names.point(NAME, [ip(&node)]);
        let health = || redlock.registry().health().swap_remove(0);
        wait_until("a connection", health, PoolHealth::is_voting).await;
        assert!(names.under_way() > 0, "the first look-up came back");
        redlock.shutdown().await;
    });
}

#[test]
fn a_look_up_that_hangs_takes_no_thread_and_delays_no_end() {
    with_names(async |names| {
        names.hang(NAME);
        let of_application = || {
            let runtime = Builder::new_multi_thread()
                .worker_threads(1)
                .max_blocking_threads(1)
                .enable_all()
                .build()
                .unwrap();
            let redlock = runtime.block_on(async {
                let redlock = Redlock::start(config(4)).await.unwrap();
                wait_until("a look-up", || names.under_way(), |it| *it > 0).await;
                let work = timeout(SOON, spawn_blocking(|| ())).await;
                work.expect("a thread for the application's own work")
                    .unwrap();
                redlock
            });
            drop(redlock);
            drop(runtime);
        };
        // A runtime cannot end on a thread that drives another one.
        let ended = std::thread::scope(|scope| scope.spawn(of_application).join());
        ended.expect("the application");
        // The end of this process waits for none either.
        assert!(names.under_way() > 0, "the end of the runtime waited");
    });
}
