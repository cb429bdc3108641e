//! The time to compile annotated functions. See the library's docs.

use std::path::Path;
use std::process::ExitCode;

use redlock_benches::{Group, Suite, compile_time};

fn main() -> ExitCode {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut suite = Suite::from_command_line(scratch);
    suite.measure(Group::CompileTime, None, |plan, report| {
        compile_time(plan, scratch, report);
    });
    suite.end()
}
