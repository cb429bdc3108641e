//! A million leases in one process, over three nodes: memory a lease on either side, processor time, losses.

use std::time::{Duration, Instant};

use redlock_core::request::Renewal;
use redlock_core::{Lease, Request};
use redlock_tests::Nodes;

use super::{Flavor, runtime};
use crate::clock::{cpu_time, resident};
use crate::contender::{Kind, Ours};
use crate::load::keys_left;
use crate::plan::{Mode, Plan};
use crate::report::Bound::AtMost;
use crate::report::Report;
use crate::stats::whole;
use crate::table::Table;

/// The default. A third of what remains of it without the drift is 19.8 s.
const TTL: Duration = Duration::from_secs(60);

/// Callers that acquire and release at once.
const CALLERS: usize = 64;

/// What a lease may take, and all of them together of one core.
const MOST_BYTES: f64 = 1024.0;
const MOST_PERCENT: f64 = 20.0;

/// What the nodes have used.
struct OfNodes {
    cpu: f64,
    /// In script calls, by the servers' own count, in µs.
    in_scripts: f64,
    /// Of the first one.
    memory: f64,
}

impl OfNodes {
    fn read(nodes: &Nodes) -> Self {
        let figure = |node: usize, field| {
            let value = nodes[node].info(field).and_then(|it| it.parse().ok());
            value.unwrap_or(0.0_f64)
        };
        let cpu = |node| figure(node, "used_cpu_user") + figure(node, "used_cpu_sys");
        let of_script = |node: usize, command: &str| {
            let stat = nodes[node].info(&format!("cmdstat_{command}"));
            let stat = stat.unwrap_or_default();
            let mut parts = stat
                .split(',')
                .filter_map(|part| part.strip_prefix("usec="));
            parts
                .next()
                .and_then(|usec| usec.parse().ok())
                .unwrap_or(0.0_f64)
        };
        let in_scripts = |node| of_script(node, "evalsha") + of_script(node, "eval");
        Self {
            in_scripts: (0..nodes.len()).map(in_scripts).sum(),
            cpu: (0..nodes.len()).map(cpu).sum(),
            memory: figure(0, "used_memory"),
        }
    }
}

/// Counts memory with `live`, which says how many bytes are allocated.
pub fn leases(
    plan: &Plan,
    nodes: &Nodes,
    urls: &[String],
    live: fn() -> usize,
    report: &mut Report,
) {
    let count = plan.leases.unwrap_or(match plan.mode {
        Mode::Smoke => 100,
        Mode::Short => 10_000,
        Mode::Full => 1_000_000,
    });
    runtime(Flavor::MultiThread).block_on(async {
        let ours = Ours::connect(urls, Duration::from_secs(1)).await;
        let at_rest = OfNodes::read(nodes);
        let before = (live(), resident());
        let began = Instant::now();
        let leases = held(&ours, count).await;
        let acquired = began.elapsed();
        let renewals = || -> usize {
            let each = leases.iter().map(|lease| lease.extensions() as usize);
            each.sum()
        };

        let (renewed, cpu, of_nodes) = (renewals(), cpu_time(), OfNodes::read(nodes));
        let began = Instant::now();
        tokio::time::sleep(plan.leases_watched).await;
        let watched = began.elapsed().as_secs_f64();
        let cpu = cpu_time().saturating_sub(cpu).as_secs_f64();
        let end_of_nodes = OfNodes::read(nodes);
        let renewed = whole(renewals() - renewed);

        let percent = 100.0 * cpu / watched;
        let bytes = whole(live().saturating_sub(before.0)) / whole(count);
        let resident = whole(resident().saturating_sub(before.1)) / whole(count);
        let of_node = (end_of_nodes.memory - at_rest.memory) / whole(count);
        let server_us =
            1e6 * (end_of_nodes.cpu - of_nodes.cpu) / renewed.max(1.0) / whole(nodes.len());
        let in_scripts = end_of_nodes.in_scripts - of_nodes.in_scripts;
        let script_us = in_scripts / renewed.max(1.0) / whole(nodes.len());
        let lost = leases.iter().filter(|lease| lease.over().is_some()).count();
        let least = leases.iter().map(|lease| lease.validity()).min();
        let least = least.unwrap_or_default().as_secs_f64();

        let case = format!("{count} leases, ttl {} s", TTL.as_secs());
        let figures = [
            ("lost", whole(lost), 0),
            ("bytes a lease", bytes, 0),
            ("resident bytes a lease", resident, 0),
            ("% of a core", percent, 2),
            ("renewals", renewed, 0),
            ("client µs a renewal", 1e6 * cpu / renewed.max(1.0), 1),
            ("µs of each server", server_us, 1),
            ("of it in scripts", script_us, 2),
            ("bytes a key there", of_node, 0),
            ("least validity s", least, 1),
            ("acquired in s", acquired.as_secs_f64(), 0),
            ("watched s", watched, 0),
        ];
        let [mut headings, mut row] = [const { [const { String::new() }; 13] }; 2];
        headings[0].clone_from(&case);
        Kind::Ours.name().clone_into(&mut row[0]);
        for (column, (name, value, decimals)) in (1..).zip(figures) {
            name.clone_into(&mut headings[column]);
            row[column] = format!("{value:.decimals$}");
        }
        let mut table = Table::new(headings.each_ref().map(String::as_str));
        table.row(&row);
        for (name, value, _) in figures {
            report.figure(&case, Kind::Ours.name(), name, &[value]);
        }
        report.count(count);
        let mut bound = |what: &str, most, found| {
            report.line(&mut table, &case, what, AtMost(most), found);
        };
        bound("bytes a lease", MOST_BYTES, bytes);
        bound("% of a core", MOST_PERCENT, percent);
        report.table(table);
        if lost > 0 {
            report.problem(format!("{case}: {lost} were lost"));
        }
        released(leases).await;
        report.left_behind(&case, &keys_left(nodes).await);
    });
}

async fn held(ours: &Ours, count: usize) -> Vec<Lease> {
    let callers = (0..CALLERS).map(|from| tokio::spawn(held_from(ours.clone(), from, count)));
    let callers: Vec<_> = callers.collect();
    let mut leases = Vec::with_capacity(count);
    for caller in callers {
        leases.append(&mut caller.await.expect("a caller that does not panic"));
    }
    leases
}

/// The share of one of the callers.
async fn held_from(ours: Ours, from: usize, count: usize) -> Vec<Lease> {
    let mut leases = Vec::with_capacity(count.div_ceil(CALLERS));
    for number in (from..count).step_by(CALLERS) {
        let mut request = Request::new(format!("bench:leases:{number}")).ttl(TTL);
        request.renewal = Renewal::Unlimited;
        leases.push(ours.acquire(&request).await);
    }
    leases
}

async fn released(leases: Vec<Lease>) {
    let mut shares: Vec<Vec<Lease>> = (0..CALLERS).map(|_| Vec::new()).collect();
    for (number, lease) in leases.into_iter().enumerate() {
        shares[number % CALLERS].push(lease);
    }
    let callers = shares.into_iter().map(|share| {
        tokio::spawn(async {
            for lease in share {
                lease.release().await;
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.expect("a caller that does not panic");
    }
}
