//! In which order values go: as without the attribute, and the lock last.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use async_trait::async_trait;
use redlock_runtime::{LockError, redlock};

use crate::macro_behaviour::fixture::{Log, Nodes, Seen, with_nodes};

/// Two values that can be taken apart.
struct Pair {
    used: Seen,
    #[allow(dead_code, reason = "only its drop counts")]
    other: Seen,
}

impl Pair {
    fn new(nodes: &Nodes, log: &Log) -> Self {
        let [used, other] = ["used", "other"].map(|name| nodes.seen(name, log));
        Self { used, other }
    }
}

/// Two functions with the same body: one under a lock, one without.
macro_rules! with_and_without {
    ($locked:ident, $plain:ident, $signature:tt, $body:block) => {
        with_and_without!(@ #[redlock(resource = "order")] $locked $signature $body);
        with_and_without!(@ #[allow(clippy::used_underscore_binding)] $plain $signature $body);
    };
    (@ #[$attribute:meta] $name:ident ($($parameters:tt)*) $body:block) => {
        #[$attribute]
        async fn $name($($parameters)*) -> Result<(), LockError> $body
    };
}

/// The drops that the two logged are the same, and those of the first were under the lock.
fn assert_same_order(locked: &Log, plain: &Log) {
    let names = |log: &Log, state: &str| -> Vec<String> {
        let of_line = |line: String| match line.strip_suffix(state) {
            Some(name) => name.to_owned(),
            None => panic!("{line}, not {state}"),
        };
        log.lines().into_iter().map(of_line).collect()
    };
    let (locked, plain) = (names(locked, " locked"), names(plain, " unlocked"));
    assert!(!plain.is_empty());
    assert_eq!(locked, plain);
}

with_and_without!(
    arguments,
    plain_arguments,
    (first: Seen, _second: Seen, mut third: Seen, pair: Pair, (left, right): (Seen, Seen), nodes: &Nodes, log: &Log),
    {
        let _local = nodes.seen("local", log);
        let _other_local = nodes.seen("other local", log);
        let _ = (&right, &left, &pair.used, &first, &third);
        third = nodes.seen("fourth", log);
        let _ = &third;
        std::future::ready(()).await;
        Ok(())
    }
);

#[tokio::test]
async fn arguments_are_dropped_before_the_lock_and_in_reverse() {
    with_nodes(|nodes, log| async move {
        let without = Log::default();
        macro_rules! call {
            ($function:ident, $log:expr) => {{
                let seen = |name| nodes.seen(name, $log);
                let pair = Pair::new(&nodes, $log);
                let both = (seen("left"), seen("right"));
                $function(
                    seen("first"),
                    seen("second"),
                    seen("third"),
                    pair,
                    both,
                    &nodes,
                    $log,
                )
                .await
                .unwrap();
            }};
        }
        call!(arguments, &log);
        call!(plain_arguments, &without);
        assert_same_order(&log, &without);
        assert_eq!(log.lines().len(), 10);
    })
    .await;
}

with_and_without!(returns_early, plain_returns_early, (pair: Pair, _unused: Seen, early: bool, nodes: &Nodes, log: &Log), {
    let _local = nodes.seen("local", log);
    let Pair { used, .. } = pair;
    if early {
        return Ok(());
    }
    drop(used);
    Err(redlock_runtime::lock("").acquire().await.unwrap_err())?;
    Ok(())
});

#[tokio::test]
async fn every_way_out_keeps_the_order() {
    with_nodes(|nodes, log| async move {
        let without = Log::default();
        for early in [true, false] {
            let locked = returns_early(
                Pair::new(&nodes, &log),
                nodes.seen("unused", &log),
                early,
                &nodes,
                &log,
            )
            .await;
            let plain = plain_returns_early(
                Pair::new(&nodes, &without),
                nodes.seen("unused", &without),
                early,
                &nodes,
                &without,
            )
            .await;
            assert_eq!((locked.is_ok(), plain.is_ok()), (early, early));
        }
        assert_same_order(&log, &without);
    })
    .await;
}

with_and_without!(pending, plain_pending, (pair: Pair, _unused: Seen, nodes: &Nodes, log: &Log), {
    let _local = nodes.seen("local", log);
    let _ = &pair.used;
    std::future::pending().await
});

#[tokio::test]
async fn a_cancelled_call_keeps_the_order() {
    with_nodes(|nodes, log| async move {
        let without = Log::default();
        macro_rules! cancel {
            ($function:ident, $log:expr) => {{
                let call = $function(
                    Pair::new(&nodes, $log),
                    nodes.seen("unused", $log),
                    &nodes,
                    $log,
                );
                let mut call = Box::pin(call);
                let short = std::time::Duration::from_millis(50);
                assert!(tokio::time::timeout(short, call.as_mut()).await.is_err());
                drop(call);
            }};
        }
        cancel!(pending, &log);
        nodes.free().await;
        cancel!(plain_pending, &without);
        assert_same_order(&log, &without);
    })
    .await;
}

impl Pair {
    #[redlock(resource = "self")]
    async fn uses_a_part(self, _unused: Seen) -> Result<(), LockError> {
        let _ = &self.used;
        Ok(())
    }

    #[redlock(resource = "self")]
    async fn uses_nothing(self) -> Result<(), LockError> {
        Ok(())
    }
}

#[tokio::test]
async fn self_is_dropped_under_the_lock_also_where_it_is_not_used() {
    with_nodes(|nodes, log| async move {
        let unused = nodes.seen("unused", &log);
        Pair::new(&nodes, &log).uses_a_part(unused).await.unwrap();
        Pair::new(&nodes, &log).uses_nothing().await.unwrap();
        let of_pair = ["used dropped locked", "other dropped locked"];
        assert_eq!(log.lines()[0], "unused dropped locked");
        assert_eq!(log.lines()[1..], [of_pair, of_pair].concat());
    })
    .await;
}

#[async_trait]
trait Consume {
    async fn consume(self: Box<Self>, first: Seen, _second: Seen) -> Result<(), LockError>;
}

#[async_trait]
impl Consume for Pair {
    #[redlock(resource = "consumed")]
    async fn consume(self: Box<Self>, first: Seen, _second: Seen) -> Result<(), LockError> {
        let _ = (&self.used, &first);
        Ok(())
    }
}

#[tokio::test]
async fn under_async_trait_too() {
    with_nodes(|nodes, log| async move {
        let pair = Box::new(Pair::new(&nodes, &log));
        let [first, second] = ["first", "second"].map(|name| nodes.seen(name, &log));
        pair.consume(first, second).await.unwrap();
        let names = ["second", "first", "used", "other"];
        assert_eq!(
            log.lines(),
            names.map(|name| format!("{name} dropped locked"))
        );
    })
    .await;
}

/// The lock is asked for at the first poll; before it, arguments go as those of any future.
#[tokio::test]
async fn a_call_that_never_ran_drops_its_arguments_without_a_lock() {
    with_nodes(|nodes, log| async move {
        drop(Pair::new(&nodes, &log).uses_nothing());
        assert_eq!(
            log.lines(),
            ["used dropped unlocked", "other dropped unlocked"]
        );
        let mut call = pin!(Pair::new(&nodes, &log).uses_nothing());
        let _ = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    })
    .await;
}
