//! Cargo, for what a test builds while it runs. The mutants of the simulation have this file too.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

/// The packages that `scripts/test` builds in small. With another choice, dependencies have other features and are
/// built again.
pub const CHOSEN: [&str; 5] = [
    "--workspace",
    "--exclude",
    "redlock-benches",
    "--exclude",
    "redlock-interop-tests",
];

/// Builds in the profile and the target directory of this test. What to build is for the caller to add.
pub fn cargo_build() -> Command {
    let folder = profile_dir();
    let profile = match folder.file_name().and_then(OsStr::to_str) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // Remove the variables that cargo sets for a test: they make some build scripts run again, now and when
    // cargo runs next.
    let is_told = |name: &str| {
        ["CARGO_PKG_", "CARGO_MANIFEST_"]
            .iter()
            .any(|it| name.starts_with(it))
    };
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_told) {
            command.env_remove(name);
        }
    }
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--profile", profile, "--target-dir"])
        .arg(folder.parent().expect("cargo's layout"));
    command
}

/// Returns where this test's profile is built. A test runs from `<target dir>/<profile>/deps/`.
pub fn profile_dir() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let profile = test.ancestors().nth(2).expect("cargo's layout");
    profile.to_owned()
}
