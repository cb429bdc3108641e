//! All groups but the renewal. See the library's docs.

use std::process::ExitCode;

use redlock_benches::{
    Suite, compile_time, fenced, fenced_hot, frozen, hand_over, hot_key, hot_key_processes, kinds,
    kinds_writer, permits, shares, tuning, uncontended, work, wrapper,
};

fn main() -> ExitCode {
    if work() {
        return ExitCode::SUCCESS;
    }
    let mut suite = Suite::from_command_line(env!("CARGO_TARGET_TMPDIR"));
    suite.measure("uncontended", 3, uncontended);
    suite.measure("frozen", 5, frozen);
    suite.measure("hot-key", 3, hot_key);
    suite.measure("hot-key-processes", 3, hot_key_processes);
    suite.measure("hand-over", 3, hand_over);
    suite.measure("fenced", 3, fenced);
    suite.measure("fenced-hot", 3, fenced_hot);
    suite.measure("shares", 3, shares);
    suite.measure("permits", 3, permits);
    suite.measure("kinds", 3, kinds);
    suite.measure("kinds-writer", 3, kinds_writer);
    suite.measure("wrapper", 0, |plan, _, report| wrapper(plan, report));
    suite.measure("compile-time", 0, |plan, _, report| {
        compile_time(plan, report);
    });
    suite.measure("tuning", 3, tuning);
    suite.end()
}
