//! Thousands of leases in one process that renew themselves: memory a lease, and processor time.

use std::time::{Duration, Instant};

use redlock_core::{Lease, Renewal, Request};
use redlock_tests::Nodes;
use serde_json::json;

use super::{Flavor, runtime};
use crate::contender::Ours;
use crate::load::cpu_time;
use crate::plan::{Mode, Plan};
use crate::report::Report;

/// A third of what remains of it without the drift is 9.9 s.
const TTL: Duration = Duration::from_secs(30);

/// What a lease may take, and all of them together of one core.
const MOST_BYTES: f64 = 1024.0;
const MOST_OF_A_CORE: f64 = 0.05;

/// Counts memory with `live`, which says how many bytes are allocated.
pub fn renewal(
    plan: &Plan,
    nodes: &Nodes,
    urls: &[String],
    live: fn() -> usize,
    report: &mut Report,
) {
    let (count, watched) = match plan.mode {
        Mode::Smoke => (100, Duration::from_millis(50)),
        Mode::Short => (10_000, Duration::from_secs(25)),
        Mode::Full => (10_000, Duration::from_secs(60)),
    };
    println!(
        "\n{count} leases that are renewed every 10 s, {} nodes, watched for {} s",
        urls.len(),
        watched.as_secs()
    );
    let runtime = runtime(Flavor::MultiThread);
    runtime.block_on(async {
        let ours = Ours::connect(urls, Duration::from_secs(1)).await;
        // Once before, so that what grows once has grown.
        drop(held(&ours, count).await);
        settle(nodes).await;
        let before = live();
        let leases = held(&ours, count).await;
        let of = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        let cpu = cpu_time();
        let began = Instant::now();
        tokio::time::sleep(watched).await;
        let taken = cpu_time().saturating_sub(cpu).as_secs_f64() / began.elapsed().as_secs_f64();
        let bytes = live().saturating_sub(before);
        let bytes = f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / of;
        let lost = leases.iter().filter(|lease| lease.over().is_some()).count();
        let least = leases
            .iter()
            .map(|lease| lease.validity())
            .min()
            .unwrap_or_default();
        println!(
            "\n  {bytes:.0} bytes a lease; {:.1} % of a core; {lost} lost; at least {:.1} s of \
             validity left",
            taken * 100.0,
            least.as_secs_f64(),
        );
        report.result(json!({
            "case": "renewal",
            "leases": count,
            "bytes_a_lease": bytes,
            "of_a_core": taken,
            "lost": lost,
            "least_validity_s": least.as_secs_f64(),
        }));
        let aim = format!("at most {MOST_BYTES} bytes a lease");
        report.judge("renewal", &aim, bytes <= MOST_BYTES);
        let aim = format!("at most {:.0} % of a core", MOST_OF_A_CORE * 100.0);
        report.judge("renewal", &aim, taken <= MOST_OF_A_CORE);
        report.judge("renewal", "no lease lost", lost == 0);
        drop(leases);
        settle(nodes).await;
        report.left_behind("renewal", nodes.all_keys().len());
    });
}

async fn held(ours: &Ours, count: usize) -> Vec<Lease> {
    let mut leases = Vec::with_capacity(count);
    for number in 0..count {
        let mut request = Request::new(format!("bench:renewal:{number}")).ttl(TTL);
        request.renewal = Renewal::Unlimited;
        leases.push(ours.acquire(&request).await);
    }
    leases
}

/// Waits until the releases have been served.
async fn settle(nodes: &Nodes) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !nodes.all_keys().is_empty() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
