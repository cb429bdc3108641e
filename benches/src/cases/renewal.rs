//! Thousands of leases in one process that renew themselves: memory a lease, and processor time.

use std::time::{Duration, Instant};

use redlock_core::request::MaxHold;
use redlock_core::{Lease, Request};
use redlock_tests::Nodes;

use super::{CONNECT_TIMEOUT, Flavor, runtime};
use crate::clock::cpu_time;
use crate::contender::{Kind, Ours};
use crate::load::keys_left;
use crate::plan::{Mode, Plan};
use crate::report::{Named, Report};
use crate::stats::whole;

/// A third of what remains of it without the drift is 9.9 s.
const TTL: Duration = Duration::from_secs(30);

/// The figures of all leases, in the order of the array.
const FIGURES: [Named<[f64; 4]>; 4] = [
    ("bytes_a_lease", |of| of[0]),
    ("percent_of_a_core", |of| of[1]),
    ("lost", |of| of[2]),
    ("least_validity_s", |of| of[3]),
];

/// Measures the leases. `live` returns how many bytes are allocated.
pub fn renewal(plan: &Plan, nodes: &Nodes, live: fn() -> usize, report: &mut Report) {
    let count = if plan.mode == Mode::Smoke {
        100
    } else {
        10_000
    };
    let runtime = runtime(Flavor::MultiThread);
    runtime.block_on(async {
        let ours = Ours::connect(&nodes.urls(), CONNECT_TIMEOUT).await;
        // Once before, so that what grows once has grown.
        drop(held(&ours, count).await);
        keys_left(nodes).await;
        let before = live();
        let leases = held(&ours, count).await;
        let cpu = cpu_time();
        let began = Instant::now();
        tokio::time::sleep(plan.renewal).await;
        let taken = cpu_time().saturating_sub(cpu).as_secs_f64() / began.elapsed().as_secs_f64();
        let bytes = whole(live().saturating_sub(before)) / whole(count);
        let lost = leases.iter().filter(|lease| lease.over().is_some()).count();
        let least = leases
            .iter()
            .map(|lease| lease.validity())
            .min()
            .unwrap_or_default();
        let case = format!("{count} leases, each renewed every 10 s");
        let figures = [bytes, taken * 100.0, whole(lost), least.as_secs_f64()];
        report.count(count);
        report.add(&case, Kind::Ours.name(), &FIGURES, &[figures]);
        if lost > 0 {
            report.problem(format!("{case}: {lost} were lost"));
        }
        drop(leases);
        report.left_behind(&case, &keys_left(nodes).await);
    });
}

async fn held(ours: &Ours, count: usize) -> Vec<Lease> {
    let mut leases = Vec::with_capacity(count);
    for number in 0..count {
        let request = Request::new(format!("bench:renewal:{number}"))
            .ttl(TTL)
            .max_hold(MaxHold::Unlimited);
        leases.push(ours.acquire(&request).await);
    }
    leases
}
