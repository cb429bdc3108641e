//! Allocations a pair, on all threads of this process.

use redlock_tests::Nodes;
use serde_json::json;
use tokio::runtime::Builder;

use crate::contender::{Fleet, Kind};
use crate::load::Load;
use crate::plan::Plan;
use crate::report::{Report, TROUBLE, trouble};
use crate::table::Table;

const CALLERS: [usize; 3] = [1, 16, 128];

/// What a pair of ours may allocate.
const MOST: f64 = 12.0;

/// Counts allocations and reallocations, and bytes, with the `counted` allocator: a function that
/// gives both totals since the start of the process.
pub fn allocations(
    plan: &Plan,
    nodes: &Nodes,
    urls: &[String],
    counted: fn() -> (usize, usize),
    report: &mut Report,
) {
    println!("\nAllocations a pair, {} nodes", urls.len());
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a tokio runtime");
    let fleet = runtime.block_on(Fleet::connect(&Kind::ALL, urls));
    for callers in CALLERS {
        let plural = if callers == 1 { "" } else { "s" };
        let case = format!("{callers} caller{plural}");
        let mut table = Table::new([&case, "allocations", "bytes", "pairs", TROUBLE]);
        let mut ours = 0.0;
        for (_, kind, contender) in fleet.in_turn(0) {
            let warm_up = Load {
                callers,
                warm_up: plan.warm_up,
                run: plan.run / 4,
            };
            let load = Load {
                warm_up: std::time::Duration::ZERO,
                run: plan.run,
                ..warm_up
            };
            runtime.block_on(warm_up.run(kind, contender, nodes));
            let before = counted();
            let mut sample = runtime.block_on(load.drive(kind, contender));
            let after = counted();
            runtime.block_on(sample.look_behind(nodes));
            let a_pair = |before: usize, after: usize| {
                let whole = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
                whole(after - before) / whole(sample.pairs.max(1))
            };
            let (count, bytes) = (a_pair(before.0, after.0), a_pair(before.1, after.1));
            if kind == Kind::Ours {
                ours = count;
            }
            table.row(&[
                kind.name().to_owned(),
                format!("{count:.1}"),
                format!("{bytes:.0}"),
                sample.pairs.to_string(),
                trouble(std::slice::from_ref(&sample)),
            ]);
            report.result(json!({
                "case": format!("{case}, allocations"),
                "who": kind.name(),
                "allocations_a_pair": count,
                "bytes_a_pair": bytes,
            }));
            report.add(&case, kind.name(), &[sample]);
        }
        println!("\n{table}");
        report.judge(
            &case,
            &format!("at most {MOST} allocations a pair"),
            ours <= MOST,
        );
    }
}
