//! The cost of the attribute, compared with an explicit lock. See the library's docs.

use std::path::Path;
use std::process::ExitCode;

use redlock_benches::{Group, Suite, wrapper};

fn main() -> ExitCode {
    let mut suite = Suite::from_command_line(Path::new(env!("CARGO_TARGET_TMPDIR")));
    suite.measure(Group::Wrapper, None, wrapper);
    suite.end()
}
