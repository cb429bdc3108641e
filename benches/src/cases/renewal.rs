//! Thousands of leases in one process that renew themselves: memory a lease, and processor time.

use std::time::{Duration, Instant};

use redlock_core::request::MaxHold;
use redlock_core::{Lease, Request};
use redlock_tests::Nodes;

use super::{Flavor, runtime};
use crate::clock::cpu_time;
use crate::contender::{Kind, Ours};
use crate::load::keys_left;
use crate::plan::{Mode, Plan};
use crate::report::Bound::AtMost;
use crate::report::Report;
use crate::stats::whole;
use crate::table::Table;

/// A third of what remains of it without the drift is 9.9 s.
const TTL: Duration = Duration::from_secs(30);

/// What all of them together may take of one core.
const MOST_PERCENT: f64 = 5.0;

/// Counts memory with `live`, which says how many bytes are allocated.
pub fn renewal(
    plan: &Plan,
    nodes: &Nodes,
    urls: &[String],
    live: fn() -> usize,
    report: &mut Report,
) {
    let count = if plan.mode == Mode::Smoke {
        100
    } else {
        10_000
    };
    let runtime = runtime(Flavor::MultiThread);
    runtime.block_on(async {
        let ours = Ours::connect(urls, Duration::from_secs(1)).await;
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
        let percent = taken * 100.0;
        let mut table = Table::new([
            &case,
            "bytes a lease",
            "% of a core",
            "lost",
            "least validity s",
            "watched s",
        ]);
        table.row(&[
            Kind::Ours.name().to_owned(),
            format!("{bytes:.0}"),
            format!("{percent:.2}"),
            lost.to_string(),
            format!("{:.1}", least.as_secs_f64()),
            plan.renewal.as_secs().to_string(),
        ]);
        report.count(count);
        for (figure, value) in [
            ("bytes_a_lease", bytes),
            ("percent_of_a_core", percent),
            ("lost", whole(lost)),
            ("least_validity_s", least.as_secs_f64()),
        ] {
            report.figure(&case, Kind::Ours.name(), figure, &[value]);
        }
        report.line(
            &mut table,
            &case,
            "% of a core",
            AtMost(MOST_PERCENT),
            percent,
        );
        report.table(table);
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
