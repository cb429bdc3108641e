//! The figures and events of elections.

#![expect(clippy::float_cmp, reason = "they are counts, and whole")]

use std::future::pending;
use std::time::Duration;

use redlock_runtime::election;
use redlock_runtime::testing::TestLocks;
use redlock_tests::drop_after;
use tokio::sync::oneshot;

use crate::capture::captured;
use crate::fixture::figures;

const SITE: &str = "elections::office";

#[tokio::test(start_paused = true)]
async fn l9_figures_show_who_leads_and_how_long_terms_were() {
    figures();
    captured();
    let locks = TestLocks::new();
    let office = || election("l9: office").name(SITE);

    // A candidate that never led has zeros.
    let hold = locks.hold("l9: office");
    assert!(
        drop_after(1, office().run(async |_term| {}))
            .await
            .is_none()
    );
    hold.release();
    let now = figures();
    assert_eq!(now.of_site("redlock_leading", SITE), 0.0);
    assert_eq!(now.of_site("redlock_terms_total", SITE), 0.0);

    let (begun, has_begun) = oneshot::channel();
    let (begun, candidate) = (std::sync::Mutex::new(Some(begun)), office());
    let leaver = candidate.clone();
    let standing = tokio::spawn(async move {
        let body = async |term: redlock_runtime::election::Term| {
            if let Some(begun) = begun.lock().unwrap().take() {
                begun.send(term.clone()).unwrap();
            }
            term.ending().await;
        };
        candidate.run(body).await
    });
    let term = has_begun.await.unwrap();
    let now = figures();
    assert_eq!(now.of_site("redlock_leading", SITE), 1.0);
    assert_eq!(now.of_site("redlock_terms_total", SITE), 1.0);
    assert_eq!(now.of_site("redlock_held", SITE), 1.0);
    assert_eq!(
        now.of_site("redlock_term_seconds_count", SITE).max(0.0),
        0.0
    );
    tokio::time::advance(Duration::from_secs(1)).await;
    leaver.resign();
    standing.await.unwrap().unwrap();
    let now = figures();
    assert_eq!(now.of_site("redlock_leading", SITE), 0.0);
    assert_eq!(now.of_site("redlock_terms_total", SITE), 1.0);
    assert_eq!(now.of_site("redlock_term_seconds_count", SITE), 1.0);
    assert!(now.of_site("redlock_term_seconds_sum", SITE) >= 1.0);

    // A task that is stopped, and a body that panics.
    let stopped = tokio::spawn(async move { office().run(async |_term| pending().await).await });
    locks.until_held("l9: office").await;
    stopped.abort();
    assert!(stopped.await.unwrap_err().is_cancelled());
    let panics = async move { office().run(async |_term| panic!("on purpose")).await };
    assert!(tokio::spawn(panics).await.unwrap_err().is_panic());
    let now = figures();
    assert_eq!(now.of_site("redlock_leading", SITE), 0.0);
    assert_eq!(now.of_site("redlock_terms_total", SITE), 3.0);
    assert_eq!(now.of_site("redlock_term_seconds_count", SITE), 3.0);

    // A process that shuts down.
    let asked = tokio::spawn(async move { office().run(async |term| term.ending().await).await });
    locks.until_held("l9: office").await;
    locks.shutdown().await;
    asked.await.unwrap().unwrap();

    // l2, as a log shows it.
    let events = captured().events("l9: office").into_iter();
    let reasons = events
        .clone()
        .filter(|it| it.message() == "a term has ended");
    let reasons: Vec<_> = reasons.map(|it| it.fields.get("reason").cloned()).collect();
    let expected = [
        "its candidate resigned",
        "its body panicked, or was dropped",
        "its body panicked, or was dropped",
        "this process shuts down",
    ];
    assert_eq!(reasons, expected.map(|it| Some(it.to_owned())));
    let token = term.fencing_token().to_string();
    let events: Vec<_> = events
        .filter(|event| event.fields.get("fencing_token") == Some(&token))
        .map(|event| event.message().to_owned())
        .filter(|message| message.contains("term"))
        .collect();
    assert_eq!(events, ["elected: a term begins", "a term has ended"]);
}
