//! What the attribute costs above the same lock taken by hand. See the library's docs.

use std::path::Path;
use std::process::ExitCode;

use redlock_benches::{Group, Suite, wrapper};

fn main() -> ExitCode {
    let mut suite = Suite::from_command_line(Path::new(env!("CARGO_TARGET_TMPDIR")));
    suite.measure(Group::Wrapper, None, wrapper);
    suite.end()
}
