//! What the attribute costs above the same lock taken by hand. See the library's docs; the
//! allocations are counted in the benchmark of that name.

use std::path::Path;

use redlock_benches::{Plan, Report, wrapper};

fn main() {
    let plan = Plan::from_command_line();
    if !plan.wants("wrapper") {
        return;
    }
    let mut report = Report::begin_in_process(&plan);
    wrapper(&plan, &mut report);
    report.finish("wrapper", Path::new(env!("CARGO_TARGET_TMPDIR")));
}
