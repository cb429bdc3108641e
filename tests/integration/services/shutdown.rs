//! SIGTERM while requests are under way, and what may hold the end up.

use std::os::unix::process::ExitStatusExt as _;

use crate::services::fleet::{Fleet, charge, key, post};
use crate::services::{FRAMEWORKS, LONG};
use redlock_tests::{Service, Signal, eventually};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// For what would never end.
const SHORT_DEADLINE: [(&str, &str); 2] = [
    ("REDLOCK_SHUTDOWN_GRACE", "200ms"),
    ("REDLOCK_SHUTDOWN_DEADLINE", "2s"),
];

/// Longer than any test waits.
pub(super) const NO_END: [(&str, &str); 2] = [
    ("REDLOCK_SHUTDOWN_GRACE", "10m"),
    ("REDLOCK_SHUTDOWN_DEADLINE", "20m"),
];

/// Waits until the process has logged or said `what`.
pub(super) async fn until_said(service: &Service, what: &str) {
    eventually(what, LONG, async || {
        let has_said = service.output().contains(what);
        has_said.then_some(()).ok_or_else(|| service.to_string())
    })
    .await;
}

/// The signal that ended the process. A second signal that comes with the first one is taken for its echo,
/// so it takes a few.
pub(super) async fn insist(service: &Service, signal: Signal) -> Option<i32> {
    eventually("the process to end", LONG, async || {
        service.signal(signal);
        let is_over = !service.is_running();
        is_over.then_some(()).ok_or_else(|| service.to_string())
    })
    .await;
    service.wait(LONG).await.signal()
}

#[tokio::test]
async fn a_second_signal_ends_the_process_and_says_what_it_held() {
    let signals = [(Signal::TERM, Signal::INT), (Signal::INT, Signal::TERM)];
    for (example, (first, second)) in FRAMEWORKS.into_iter().zip(signals) {
        let fleet = Fleet::start(example, 1, &NO_END).await;
        let holder = fleet.hold(7).await;

        let service = &fleet.services[0];
        service.signal(first);
        until_said(service, "redlock shuts down").await;
        assert!(service.is_running(), "{service}");
        assert_eq!(
            insist(service, second).await,
            Some(second.as_raw()),
            "{service}"
        );
        until_said(service, "a second signal").await;
        let said = service.output();
        let last = said.lines().find(|line| line.contains("a second signal"));
        let last = last.expect("it was said");
        assert!(last.contains("ERROR") && last.contains(&key(7)), "{last}");
        // It was not released under its body.
        assert!(fleet.nodes.values_of(key(7)).iter().flatten().count() >= 2);
        assert!(holder.await.unwrap().is_err(), "{service}");
    }
}

#[tokio::test]
async fn an_unfinished_request_does_not_hold_the_end_up() {
    for example in FRAMEWORKS {
        let fleet = Fleet::start(example, 1, &SHORT_DEADLINE).await;
        let mut client = TcpStream::connect(fleet.addr()).await.unwrap();
        let begun = format!("POST {} HTTP/1.1\r\nContent-Len", charge(1));
        client.write_all(begun.as_bytes()).await.unwrap();
        // Accepted in this order.
        assert_eq!(post(fleet.addr(), &charge(2)).await.unwrap().status, 200);

        let service = &fleet.services[0];
        service.signal(Signal::TERM);
        assert!(service.wait(LONG).await.success(), "{service}");
        drop(client);
    }
}

#[tokio::test]
async fn a_body_that_never_yields_does_not_hold_the_end_up() {
    for framework in FRAMEWORKS {
        let fleet = Fleet::start(framework, 1, &SHORT_DEADLINE).await;
        let (service, addr) = (&fleet.services[0], fleet.addr());
        let caller = tokio::spawn(async move { post(addr, "/spin").await });
        service.wait_for_line("spinning", LONG).await;

        service.signal(Signal::TERM);
        assert_eq!(service.wait(LONG).await.code(), Some(3), "{service}");
        let logged = "0 cancelled and released, 1 stuck; `spin` keeps its key until the ttl";
        until_said(service, logged).await;
        assert!(fleet.nodes.values_of("spin").iter().flatten().count() >= 2);
        assert!(caller.await.unwrap().is_err(), "{service}");
    }
}

#[tokio::test]
async fn a_busy_process_hears_a_signal_and_ends_at_the_second() {
    let mut fleet = Fleet::start("orders", 0, &SHORT_DEADLINE).await;
    fleet.add("orders alone", "spinning").await;
    let service = &fleet.services[0];
    service.signal(Signal::TERM);
    until_said(service, "redlock has shut down: 0 finished").await;
    assert!(service.is_running(), "{service}");
    assert_eq!(insist(service, Signal::TERM).await, Some(15), "{service}");
    until_said(service, "its keys stay until the ttl: `spin` by").await;
    assert!(fleet.nodes.values_of("spin").iter().flatten().count() >= 2);
}

#[tokio::test]
async fn a_signal_that_nobody_awaits_any_more_is_kept() {
    let mut fleet = Fleet::start("orders", 0, &[]).await;
    let service = fleet.add("orders waiting", "waits for nothing").await;
    service.signal(Signal::TERM);
    until_said(service, "no task waits for the signal").await;
    assert!(service.is_running(), "{service}");
    assert_eq!(insist(service, Signal::INT).await, Some(2), "{service}");
}
