//! The spans of a call.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redlock_runtime::parameters::{Kind, LockOptions};
use redlock_runtime::registry::Registry;
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, lock, redlock};
use redlock_tests::drop_after;
use tokio::sync::Notify;
use tracing::span::{Attributes, Id};
use tracing::{Instrument as _, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::capture::captured;

const SECOND: Duration = Duration::from_secs(1);

#[redlock(
    resource = "{resource}",
    fencing = true,
    wait = 3000,
    name = "spans::work"
)]
async fn work(resource: &str) -> Result<(), LockError> {
    async { tracing::info!(resource, "at work") }
        .instrument(tracing::info_span!(
            "users_own",
            redlock.resource = resource
        ))
        .await;
    tokio::time::sleep(SECOND).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_is_two_spans_and_its_body_is_below_the_second() {
    let told = captured();
    let locks = TestLocks::new();
    let _hold = locks.other_client().ttl(SECOND).hold("two spans");
    let call = work("two spans").instrument(tracing::info_span!("request"));
    call.await.unwrap();

    let (acquire, parent) = told.span("redlock.acquire", "two spans");
    assert_eq!(parent, Some("request"));
    let expected = [
        ("otel.kind", "client"),
        ("code.function.name", "telemetry::spans::work"),
        ("redlock.site", "spans::work"),
        ("redlock.pools", "a,b,c"),
        ("redlock.outcome", "acquired"),
        ("redlock.votes", "3/3"),
    ];
    for (field, value) in expected {
        assert_eq!(acquire.get(field), Some(value), "{field} of {acquire:?}");
    }
    let number = |field: &str| acquire.get(field).unwrap().parse::<f64>().unwrap();
    assert!(number("redlock.attempts") > 1.0 && number("redlock.wait") >= 1.0);
    assert!(number("code.line.number") > 1.0);
    assert!(acquire.get("code.file.path").unwrap().ends_with("spans.rs"));
    let failure = (acquire.get("error.type"), acquire.get("otel.status_code"));
    assert_eq!(failure, (None, None));

    let (hold, parent) = told.span("redlock.hold", "two spans");
    assert_eq!(parent, Some("request"));
    assert_eq!(hold.get("redlock.outcome"), Some("done"));
    let seconds: f64 = hold.get("redlock.held").unwrap().parse().unwrap();
    assert!(seconds >= 1.0, "{seconds}");
    for field in ["redlock.token", "redlock.fencing_token", "redlock.site"] {
        assert!(hold.get(field).is_some(), "{field}");
        assert_eq!(hold.get(field), acquire.get(field));
    }
    assert_eq!(hold.get("error.type"), None);
    assert!(acquire.is_closed && hold.is_closed);
    let levels = (acquire.level, hold.level);
    assert_eq!(levels, (tracing::Level::INFO, tracing::Level::INFO));
    assert_eq!(told.span("users_own", "two spans").1, Some("redlock.hold"));
}

/// Says so when it is dropped.
struct Witness(&'static str);

impl Drop for Witness {
    fn drop(&mut self) {
        tracing::info!(name = self.0, "dropped");
    }
}

#[redlock(resource = "{name}")]
async fn never_ends(name: &'static str, begun: &Notify) -> Result<(), LockError> {
    let _witness = Witness(name);
    begun.notify_one();
    std::future::pending().await
}

#[tokio::test]
async fn what_a_dropped_body_drops_is_inside_its_span() {
    let told = captured();
    let _locks = TestLocks::new();
    let begun = Notify::new();
    let body = async {
        let _witness = Witness("by run");
        begun.notify_one();
        std::future::pending::<()>().await;
    };
    let run = lock("by run").run(body);
    tokio::select! {
        biased;
        ended = never_ends("by attribute", &begun) => unreachable!("{ended:?}"),
        () = begun.notified() => {}
    }
    tokio::select! {
        biased;
        ended = run => unreachable!("{ended:?}"),
        () = begun.notified() => {}
    }
    for name in ["by attribute", "by run"] {
        let mut dropped = told.events(name).into_iter();
        let dropped = dropped.find(|event| event.message() == "dropped");
        assert_eq!(dropped.unwrap().span, Some("redlock.hold"), "{name}");
        let (hold, _) = told.span("redlock.hold", name);
        let is_open = hold.get("redlock.outcome").is_none();
        assert!(hold.is_closed && is_open, "{hold:?}");
    }
}

#[redlock(resource = "{resource}", ttl = 1000, name = "spans::lost")]
async fn outlasts_its_lock(resource: &str) -> Result<(), LockError> {
    std::future::pending().await
}

#[redlock(resource = "{resource}", if_locked = "skip", name = "spans::skips")]
async fn skips(resource: &str) -> Result<(), LockError> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_span_names_the_type_of_an_error() {
    let told = captured();
    let locks = TestLocks::new();
    let hold = locks.hold(["contended", "skipped"]);
    work("contended").await.unwrap_err();
    skips("skipped").await.unwrap();
    drop(hold);
    assert!(outlasts_its_lock("lost").await.unwrap_err().is_lost());
    drop(locks);
    work("not initialized").await.unwrap_err();
    for (span, resource, outcome, error_type) in [
        (
            "redlock.acquire",
            "contended",
            "contended",
            Some("contended"),
        ),
        (
            "redlock.acquire",
            "not initialized",
            "not_initialized",
            Some("not_initialized"),
        ),
        ("redlock.acquire", "skipped", "skipped", None),
        ("redlock.hold", "lost", "lost", Some("expired")),
    ] {
        let (span, _) = told.span(span, resource);
        assert_eq!(span.get("redlock.outcome"), Some(outcome), "{span:?}");
        assert_eq!(span.get("error.type"), error_type, "{span:?}");
        let status = error_type.map(|_| "ERROR");
        assert_eq!(span.get("otel.status_code"), status, "{span:?}");
        assert!(span.is_closed, "{span:?}");
    }
    assert!(told.spans("redlock.hold", "contended").is_empty());
}

#[tokio::test]
async fn a_caller_that_goes_away_is_cancelled_on_its_span() {
    let told = captured();
    let locks = TestLocks::new();
    let _hold = locks.hold("abandoned");
    let waits = lock("abandoned").acquire();
    assert!(drop_after(2, waits).await.is_none());
    let (acquire, _) = told.span("redlock.acquire", "abandoned");
    assert_eq!(acquire.get("redlock.outcome"), Some("cancelled"));
    assert_eq!(acquire.get("error.type"), None);
    assert!(acquire.is_closed);
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_joined_call_is_below_the_holders() {
    let told = captured();
    let _locks = TestLocks::new();
    let outer = lock("a joined span").name("spans: a name").fencing();
    let nested = outer.run(async |_| work("a joined span").await.unwrap());
    nested.await.unwrap();
    let acquires = told.spans("redlock.acquire", "a joined span");
    let [(outer, _), (inner, parent)] = &acquires[..] else {
        panic!("{acquires:?}");
    };
    assert_eq!(outer.get("redlock.site"), Some("spans: a name"));
    assert_eq!(outer.get("code.function.name"), None, "{outer:?}");
    assert_eq!(outer.get("redlock.outcome"), Some("acquired"));
    assert_eq!(inner.get("redlock.outcome"), Some("joined"));
    assert_eq!(*parent, Some("redlock.hold"));
    assert_eq!(inner.get("redlock.token"), outer.get("redlock.token"));
}

#[tokio::test]
async fn the_kind_and_the_permit_of_a_lock_are_on_both_spans() {
    let told = captured();
    let _locks = TestLocks::new();
    let options = LockOptions::new;
    for (resource, options, kind, permit) in [
        ("spans: plain", options(), "plain", None),
        ("spans: reads", options().kind(Kind::Read), "read", None),
        ("spans: writes", options().kind(Kind::Write), "write", None),
        ("spans: permits", options().permits(1), "plain", Some("0")),
    ] {
        let run = lock(resource).options(options).run(async {});
        run.await.unwrap();
        for name in ["redlock.acquire", "redlock.hold"] {
            let (span, _) = told.span(name, resource);
            assert_eq!(span.get("redlock.kind"), Some(kind), "{name} of {resource}");
            assert_eq!(span.get("redlock.permit"), permit, "{name} of {resource}");
        }
    }
}

/// Looks, at the beginning of each hold, for which leases a body runs.
struct Looks(Registry, Arc<Mutex<Vec<bool>>>);

impl<S: Subscriber> Layer<S> for Looks {
    fn on_new_span(&self, attributes: &Attributes<'_>, _id: &Id, _context: Context<'_, S>) {
        if attributes.metadata().name() == "redlock.hold" {
            let held = self.0.held();
            self.1
                .lock()
                .unwrap()
                .extend(held.iter().map(|it| it.has_body));
        }
    }
}

#[tokio::test]
async fn a_fenced_lock_is_held_for_its_body_from_the_start() {
    let locks = TestLocks::new();
    let seen = Arc::<Mutex<Vec<bool>>>::default();
    let layer = Looks(locks.registry().clone(), Arc::clone(&seen));
    let _default = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
    let fenced = || lock("spans: fenced").fencing();
    fenced().run(async |_lease| ()).await.unwrap();
    let tried: Result<(), LockError> = fenced().try_run(async |_lease| Ok(())).await;
    tried.unwrap();
    fenced().acquire().await.unwrap().release().await;
    assert_eq!(*seen.lock().unwrap(), [true, true, false]);
}
