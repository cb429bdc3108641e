//! Compiles one case by rustc, against the libraries of the workspace's build.
//!
//! A project of its own would have cargo check all dependencies again, which takes longer than all cases.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use redlock_tests::{CHOSEN, cargo_build};

use crate::diagnostic::{Diagnostic, library, of_rustc};
use crate::project::root;

/// The libraries that cases use, as they call them.
const USED: [&str; 2] = ["redlock_runtime", "tokio"];

/// The files of [`USED`], as cargo has just built them for this test.
static LIBRARIES: LazyLock<Vec<(&str, PathBuf)>> = LazyLock::new(|| {
    let built = cargo_build()
        .arg("--locked")
        .args(CHOSEN)
        .args(["--test", "compile", "--message-format=json"])
        .output()
        .expect("cargo runs");
    let lines = String::from_utf8_lossy(&built.stdout);
    let file = |name| {
        let mut found = lines.lines().filter_map(|line| library(line, name));
        let file = found.next().unwrap_or_else(|| {
            let errors = String::from_utf8_lossy(&built.stderr);
            panic!("cargo builds no {name}\n{errors}")
        });
        assert_eq!(found.next(), None, "another {name} than {}", file.display());
        file
    };
    USED.map(|name| (name, file(name))).into()
});

/// Starts `rustc`, of the toolchain that built this test.
pub(crate) fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// Compiles `case`, a program below the package of the tests, and returns what rustc said. `manifest_dir` is the folder
/// of the package that the case seems to be in, which calls the runtime `runtime`.
pub(crate) fn compile(case: &Path, manifest_dir: &Path, runtime: &str) -> Vec<Diagnostic> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cases");
    let mut command = rustc();
    command
        .current_dir(root())
        // Its notes on Cargo.toml are for those whom cargo runs it for.
        .env("CARGO_CRATE_NAME", "case")
        .env("CARGO_MANIFEST_DIR", manifest_dir)
        .args(["--edition=2024", "--crate-type=bin", "--emit=metadata"])
        .args(["--error-format=json", "--diagnostic-width=140"])
        .args(["-A", "dead_code", "-C", "debug-assertions", "--out-dir"])
        .arg(out);
    for (name, file) in &*LIBRARIES {
        let name = match *name {
            "redlock_runtime" => runtime,
            name => name,
        };
        let mut library = OsString::from(format!("{name}="));
        library.push(file);
        command.arg("--extern").arg(library);
        command.arg("-L").arg(file.parent().expect("a folder"));
    }
    let case = case.strip_prefix(root()).expect("a case of the workspace");
    let output = command.arg(case).output().expect("rustc runs");
    of_rustc(&String::from_utf8_lossy(&output.stderr))
}
