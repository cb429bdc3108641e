//! SIGTERM under load, again and again.
//!
//! Each round is a step of a rolling deployment: a process takes requests, is asked to end with 200
//! of them in their bodies, and goes; a process of the other framework stays, and works on the same
//! orders all the time.

use std::time::Duration;

use redlock_tests::{Section, Signal, eventually, sections, sections_so_far};
use tokio::task::JoinSet;

use crate::services::LONG;
use crate::services::fleet::{Fleet, key, post, slow};
use crate::services::load::{Answer, Load, Outcome, check_answers};

/// The rounds with each framework.
const ROUNDS: u64 = 10;

/// Requests whose bodies end by themselves when the process is about to.
const BATCHES: u64 = 150;

/// Requests whose bodies do not, and are cancelled at the end of the grace period.
const SLOW: u64 = 50;

/// Orders that both processes charge all the time.
const CONTENDED: std::ops::Range<u64> = 1..5;

const SETTINGS: [(&str, &str); 3] = [
    ("REDLOCK_SHUTDOWN_GRACE", "700ms"),
    ("REDLOCK_SHUTDOWN_DEADLINE", "20s"),
    ("ORDERS_WORK_MS", "20"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn axum_ends_well_under_200_requests_in_flight_again_and_again() {
    again_and_again("orders axum", "orders actix").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actix_ends_well_under_200_requests_in_flight_again_and_again() {
    again_and_again("orders actix", "orders axum").await;
}

async fn again_and_again(leaving: &str, staying: &str) {
    let mut fleet = Fleet::start(staying, 1, &SETTINGS).await;
    let staying_load = Load::start(fleet.addr(), CONTENDED);
    let mut rounds_wound_down = 0;
    for round in 1..=ROUNDS {
        fleet.add(leaving, "listening on ").await;
        let finished = end_under_load(&fleet, round).await;
        rounds_wound_down += u64::from(finished > 0);
    }
    // Not in each round: a busy machine may stand still for the grace period.
    assert!(rounds_wound_down > ROUNDS / 2, "{rounds_wound_down} rounds");

    let stays = &fleet.services[0];
    staying_load.may_be_refused();
    stays.signal(Signal::TERM);
    let answers = staying_load.answers().await;
    assert!(stays.wait(LONG).await.success(), "{stays}");
    fleet.nodes.assert_no_lock_keys(Duration::ZERO).await;
    let sections = sections(fleet.journal()).expect("no overlap");
    check_each_order(&answers, &sections_of(stays.pid(), &sections));
}

/// Ends the newest process while all its bodies run. Returns how many bodies ended by themselves.
async fn end_under_load(fleet: &Fleet, round: u64) -> usize {
    let service = fleet.services.last().expect("one was added");
    let load = Load::start(service.addr(), CONTENDED.chain(CONTENDED));
    let mut requests = JoinSet::new();
    for order in batch_orders(round).chain(slow_orders(round)) {
        let is_slow = slow_orders(round).contains(&order);
        let path = if is_slow {
            slow(order)
        } else {
            format!("/orders/{order}/batch")
        };
        let addr = service.addr();
        requests.spawn(async move {
            let reply = post(addr, &path).await;
            let reply = reply.unwrap_or_else(|error| panic!("{path}: no answer: {error}"));
            Answer { order, reply }
        });
    }
    let in_flight = usize::try_from(BATCHES + SLOW).expect("a small number");
    let prefix = format!("{}-", service.pid());
    eventually("all bodies to run", LONG, async || {
        let (_, inside) = sections_so_far(fleet.journal())?;
        let inside = inside.iter().filter(|it| it.id.starts_with(&prefix));
        // Those that are held: the charges come and go.
        let inside = inside.filter(|it| !is_contended(it)).count();
        let answered = load.answered();
        if inside == in_flight && answered > 0 {
            return Ok(());
        }
        Err(format!(
            "{inside} run, {answered} charges answered\n{service}"
        ))
    })
    .await;

    load.may_be_refused();
    service.signal(Signal::TERM);
    let mut answers = requests.join_all().await;
    for answer in &answers {
        let is_slow = slow_orders(round).contains(&answer.order);
        assert!(
            !is_slow || answer.outcome() == Outcome::CutOff,
            "{answer:?}"
        );
    }
    let finished = answers.iter().filter(|it| it.outcome() == Outcome::Done);
    let finished = finished.count();
    answers.extend(load.answers().await);
    assert!(service.wait(LONG).await.success(), "{service}");
    assert_nothing_left(fleet, service.pid());
    let report = service.wait_for_line("shutdown: ", LONG).await;
    assert!(report.contains(" 0 stuck"), "{service}");
    assert!(!service.output().contains("not confirmed"), "{service}");

    let (ended, inside) = sections_so_far(fleet.journal()).expect("no overlap");
    assert!(
        !inside.iter().any(|it| it.id.starts_with(&prefix)),
        "{inside:?}"
    );
    check_each_order(&answers, &sections_of(service.pid(), &ended));
    finished
}

fn batch_orders(round: u64) -> std::ops::Range<u64> {
    round * 1000..round * 1000 + BATCHES
}

fn slow_orders(round: u64) -> std::ops::Range<u64> {
    round * 1000 + BATCHES..round * 1000 + BATCHES + SLOW
}

fn is_contended(section: &Section) -> bool {
    CONTENDED.map(key).any(|key| key == section.resource)
}

/// At once, and not eventually: the report said that every node has served everything.
fn assert_nothing_left(fleet: &Fleet, pid: u32) {
    let owner = format!("/{pid}/");
    for node in &fleet.nodes {
        let keys = node.keys();
        let keys = keys.iter().filter(|key| key.starts_with(b"order:"));
        for key in keys {
            // It may have gone meanwhile: the other process goes on.
            let Some(value) = node.get(key) else {
                continue;
            };
            let (key, value) = (
                String::from_utf8_lossy(key),
                String::from_utf8_lossy(&value),
            );
            assert!(!value.contains(&owner), "{key} is left on {}", node.port());
        }
    }
}

fn sections_of(pid: u32, sections: &[Section]) -> Vec<&Section> {
    let prefix = format!("{pid}-");
    let of = sections.iter().filter(|it| it.id.starts_with(&prefix));
    of.collect()
}

fn check_each_order(answers: &[Answer], sections: &[&Section]) {
    let mut orders: Vec<_> = answers.iter().map(|answer| answer.order).collect();
    orders.sort_unstable();
    orders.dedup();
    let mut checked = 0;
    for order in orders {
        let key = key(order);
        let answers: Vec<_> = answers.iter().filter(|it| it.order == order).collect();
        let sections = sections.iter().copied();
        let sections: Vec<_> = sections.filter(|it| it.resource == key).collect();
        check_answers(&answers, &sections);
        checked += sections.len();
    }
    assert_eq!(checked, sections.len(), "a body that nobody asked for");
}
