//! The spans of a call.

use redlock_runtime::parameters::{LockOptions, Mode};
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, lock, redlock};
use redlock_tests::drop_after;
use tokio::sync::Notify;
use tracing::Instrument as _;

use crate::capture::captured;
use crate::fixture::{SOON, answered_later, registry, start, until_the_clock_moves};

#[redlock(resource = "{resource}", fencing = true, name = "spans::work")]
async fn work(resource: &str) -> Result<(), LockError> {
    async { tracing::info!(resource, "at work") }
        .instrument(tracing::info_span!(
            "users_own",
            redlock.resource = resource
        ))
        .await;
    until_the_clock_moves();
    Ok(())
}

#[tokio::test]
async fn a_call_is_two_spans_side_by_side_and_its_body_is_below_the_second() {
    let told = captured();
    let (nodes, redlock) = start().await;
    let calls = registry(&redlock).scope(work("two spans"));
    let calls = calls.instrument(tracing::info_span!("request"));
    answered_later(&nodes, calls).await.unwrap();

    let (acquire, parent) = told.span("redlock.acquire", "two spans");
    assert_eq!(parent, Some("request"));
    let expected = [
        ("otel.kind", "client"),
        ("code.function.name", "telemetry::spans::work"),
        ("redlock.site", "spans::work"),
        ("redlock.pools", "a,b,c"),
        ("redlock.outcome", "acquired"),
        ("redlock.attempts", "1"),
    ];
    for (field, value) in expected {
        assert_eq!(acquire.get(field), Some(value), "{field} of {acquire:?}");
    }
    assert!(acquire.get("code.file.path").unwrap().ends_with("spans.rs"));
    assert!(
        acquire
            .get("code.line.number")
            .unwrap()
            .parse::<u32>()
            .unwrap()
            > 1
    );
    let votes = acquire.get("redlock.votes").unwrap();
    assert!(["2/3", "3/3"].contains(&votes), "{votes}");
    assert!(acquire.get("redlock.wait").unwrap().parse::<f64>().unwrap() > 0.0);
    assert_eq!(
        (acquire.get("error.type"), acquire.get("otel.status_code")),
        (None, None)
    );

    let (hold, parent) = told.span("redlock.hold", "two spans");
    assert_eq!(parent, Some("request"));
    assert_eq!(hold.get("redlock.outcome"), Some("done"));
    assert!(hold.get("redlock.held").unwrap().parse::<f64>().unwrap() > 0.0);
    for field in ["redlock.token", "redlock.fencing_token", "redlock.site"] {
        assert!(hold.get(field).is_some(), "{field}");
        assert_eq!(hold.get(field), acquire.get(field));
    }
    assert_eq!(hold.get("error.type"), None);
    assert!(acquire.is_closed && hold.is_closed);
    assert_eq!(
        (acquire.level, hold.level),
        (tracing::Level::INFO, tracing::Level::INFO)
    );
    assert_eq!(told.span("users_own", "two spans").1, Some("redlock.hold"));
    redlock.shutdown().await;
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
async fn what_a_body_drops_when_its_caller_goes_away_is_inside_its_span() {
    let told = captured();
    let (_nodes, redlock) = start().await;
    let begun = Notify::new();
    let object_style = async {
        let body = async {
            let _witness = Witness("by run");
            begun.notify_one();
            std::future::pending::<()>().await;
        };
        lock("by run").run(body).await
    };
    registry(&redlock)
        .scope(async {
            tokio::select! {
                biased;
                ended = never_ends("by attribute", &begun) => unreachable!("{ended:?}"),
                () = begun.notified() => {}
            }
            tokio::select! {
                biased;
                ended = object_style => unreachable!("{ended:?}"),
                () = begun.notified() => {}
            }
        })
        .await;
    for name in ["by attribute", "by run"] {
        let dropped = told
            .events(name)
            .into_iter()
            .find(|event| event.message() == "dropped");
        assert_eq!(dropped.unwrap().span, Some("redlock.hold"), "{name}");
        let (hold, _) = told.span("redlock.hold", name);
        assert!(
            hold.is_closed && hold.get("redlock.outcome").is_none(),
            "{hold:?}"
        );
    }
    redlock.shutdown().await;
}

#[redlock(resource = "{resource}", ttl = 1000, name = "spans::lost")]
async fn outlasts_its_lock(resource: &str) -> Result<(), LockError> {
    std::future::pending().await
}

#[redlock(resource = "{resource}", pools = ["elsewhere"], name = "spans::elsewhere")]
async fn elsewhere(resource: &str) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "{resource}", if_locked = "skip", name = "spans::skips")]
async fn skips(resource: &str) -> Result<(), LockError> {
    Ok(())
}

fn check_failure(resource: &str, error_type: &str) {
    let (acquire, _) = captured().span("redlock.acquire", resource);
    for (field, value) in [
        ("redlock.outcome", error_type),
        ("error.type", error_type),
        ("otel.status_code", "ERROR"),
    ] {
        assert_eq!(acquire.get(field), Some(value), "{acquire:?}");
    }
    assert!(acquire.is_closed);
    assert!(captured().spans("redlock.hold", resource).is_empty());
}

#[tokio::test]
async fn a_call_that_gets_no_lock_names_its_type_of_error() {
    captured();
    let (nodes, redlock) = start().await;
    for node in &nodes {
        node.set("contended", "somebody", Some(SOON));
        node.set("skipped", "somebody", Some(SOON));
    }
    let calls = async {
        work("contended").await.unwrap_err();
        skips("skipped").await.unwrap();
        elsewhere("unknown pool").await.unwrap_err();
        work("redlock:invalid").await.unwrap_err();
    };
    registry(&redlock).scope(calls).await;
    check_failure("contended", "contended");
    check_failure("unknown pool", "unknown_pool");
    check_failure("redlock:invalid", "invalid");
    let (skipped, _) = captured().span("redlock.acquire", "skipped");
    assert_eq!(skipped.get("redlock.outcome"), Some("skipped"));
    assert_eq!(skipped.get("error.type"), None);
    assert_eq!(skipped.get("redlock.attempts"), Some("1"));

    nodes[0].kill();
    nodes[1].kill();
    registry(&redlock)
        .scope(work("unavailable"))
        .await
        .unwrap_err();
    check_failure("unavailable", "unavailable");

    let late = registry(&redlock);
    redlock.shutdown().await;
    late.scope(work("shutting down")).await.unwrap_err();
    check_failure("shutting down", "shutting_down");
    work("not initialized").await.unwrap_err();
    check_failure("not initialized", "not_initialized");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_loses_its_lock_says_so_on_its_span() {
    let told = captured();
    let _locks = TestLocks::new();
    let lost = outlasts_its_lock("lost under a body").await;
    assert!(lost.unwrap_err().is_lost());
    let (hold, _) = told.span("redlock.hold", "lost under a body");
    assert_eq!(hold.get("redlock.outcome"), Some("lost"));
    assert_eq!(hold.get("error.type"), Some("expired"));
    assert_eq!(hold.get("otel.status_code"), Some("ERROR"));
}

#[tokio::test]
async fn a_lock_has_its_name_or_its_place_on_its_span() {
    let told = captured();
    let (_nodes, redlock) = start().await;
    let place = format!("{}:{}", file!(), line!() + 1);
    let (unnamed, named) = (lock("unnamed span"), lock("named span"));
    let named = named.name("spans: a name");
    for (lock, resource, site) in [
        (unnamed, "unnamed span", &*place),
        (named, "named span", "spans: a name"),
    ] {
        registry(&redlock).scope(lock.run(async {})).await.unwrap();
        let (acquire, _) = told.span("redlock.acquire", resource);
        assert_eq!(acquire.get("redlock.site"), Some(site));
        assert_eq!(acquire.get("code.function.name"), None, "{acquire:?}");
        let line = acquire.get("code.line.number").unwrap();
        let path = acquire.get("code.file.path").unwrap();
        assert_eq!(format!("{path}:{line}"), place);
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_while_it_waits_leaves_a_span_that_says_so() {
    let told = captured();
    let (nodes, redlock) = start().await;
    for node in &nodes {
        node.set("abandoned", "somebody", Some(SOON));
    }
    let waits = lock("abandoned").wait(SOON).acquire();
    let dropped = registry(&redlock).scope(drop_after(2, waits)).await;
    assert!(dropped.is_none());
    let (acquire, _) = told.span("redlock.acquire", "abandoned");
    assert_eq!(acquire.get("redlock.outcome"), Some("cancelled"));
    assert_eq!(acquire.get("error.type"), None);
    assert!(acquire.is_closed);
    redlock.shutdown().await;
}

#[tokio::test]
async fn a_call_below_the_holder_is_joined_and_its_span_is_below_the_holders() {
    let told = captured();
    let (_nodes, redlock) = start().await;
    let nested = lock("joined")
        .fencing(true)
        .run(async { work("joined").await.unwrap() });
    registry(&redlock).scope(nested).await.unwrap();
    let acquires = told.spans("redlock.acquire", "joined");
    let [(outer, _), (inner, parent)] = &acquires[..] else {
        panic!("{acquires:?}");
    };
    assert_eq!(outer.get("redlock.outcome"), Some("acquired"));
    assert_eq!(inner.get("redlock.outcome"), Some("joined"));
    assert_eq!(*parent, Some("redlock.hold"));
    assert_eq!(inner.get("redlock.token"), outer.get("redlock.token"));
    redlock.shutdown().await;
}

#[tokio::test]
async fn the_mode_and_the_permit_of_a_lock_are_on_both_spans() {
    let told = captured();
    let (_nodes, redlock) = start().await;
    let options = LockOptions::new;
    for (resource, options, mode, has_permit) in [
        ("spans: plain", options(), None, false),
        (
            "spans: reads",
            options().mode(Mode::Read),
            Some("read"),
            false,
        ),
        (
            "spans: writes",
            options().mode(Mode::Write),
            Some("write"),
            false,
        ),
        ("spans: permits", options().permits(2), None, true),
    ] {
        let run = lock(resource).options(options).run(async {});
        registry(&redlock).scope(run).await.unwrap();
        let mut permits = Vec::new();
        for name in ["redlock.acquire", "redlock.hold"] {
            let (span, _) = told.span(name, resource);
            assert_eq!(span.get("redlock.mode"), mode, "{name} of {resource}");
            permits.push(span.get("redlock.permit").map(str::to_owned));
        }
        let (acquire, hold) = (&permits[0], &permits[1]);
        assert_eq!(acquire, hold, "{resource}");
        let is_permit = |permit: &String| ["0", "1"].contains(&permit.as_str());
        assert_eq!(
            acquire.as_ref().is_some_and(is_permit),
            has_permit,
            "{resource}"
        );
    }
    redlock.shutdown().await;
}
