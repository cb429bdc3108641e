//! SIGTERM while a slow request is under way.

use crate::fleet::{Fleet, charge, post};
use crate::{FRAMEWORKS, LONG};
use redlock_tests::{Signal, check_no_overlap};
use std::time::Duration;

const SHORT_GRACE: [(&str, &str); 2] = [
    ("REDLOCK_SHUTDOWN_GRACE", "200ms"),
    ("REDLOCK_SHUTDOWN_DEADLINE", "2s"),
];

#[tokio::test]
async fn a_request_beyond_the_grace_period_is_cancelled_and_leaves_no_key() {
    for example in FRAMEWORKS {
        let fleet = Fleet::start(example, 1, &SHORT_GRACE).await;
        let holder = fleet.hold(7).await;

        let service = &fleet.services[0];
        service.signal(Signal::TERM);
        assert!(service.wait(LONG).await.success(), "{service}");
        fleet.nodes.assert_no_lock_keys(Duration::ZERO).await;

        let reply = holder.await.unwrap().unwrap();
        assert_eq!(reply.status, 503, "{example}: {reply:?}");
        assert_eq!(check_no_overlap(fleet.journal()), Ok(1), "{example}");
        let report = service.wait_for_line("shutdown: ", LONG).await;
        assert!(report.contains(" 1 cancelled,"), "{service}");
        assert!(report.contains(" 0 stuck"), "{service}");
        assert!(!service.output().contains("not confirmed"), "{service}");
    }
}

#[tokio::test]
async fn a_request_within_the_grace_period_is_answered() {
    for example in FRAMEWORKS {
        let fleet = Fleet::start(example, 1, &[("ORDERS_SLOW_MS", "500")]).await;
        let holder = fleet.hold(7).await;

        let service = &fleet.services[0];
        service.signal(Signal::TERM);
        let reply = holder.await.unwrap().unwrap();
        assert_eq!(reply.status, 200, "{example}: {reply:?}");
        assert!(service.wait(LONG).await.success(), "{service}");
        fleet.nodes.assert_no_lock_keys(Duration::ZERO).await;
        assert!(post(service.addr(), &charge(7)).await.is_err());
    }
}
