//! The probe of a checkout: its build and its counts.

use std::fs;
use std::io::Write as _;
use std::path::{self, Path, PathBuf};
use std::process::{Command, Stdio};

/// The pairs of a turn, the nanoseconds that they took, and the allocations in that time.
pub(super) type Answer = [f64; 3];

/// The programs of one checkout.
pub(super) struct Probe {
    /// For rates: it counts nothing.
    pub(super) plain: PathBuf,
    /// For counts.
    counting: PathBuf,
}

impl Probe {
    /// Builds the probe that `checkout` carries, or else the one in the folder `newest`, against its sources and its
    /// lock file.
    pub(super) fn build(name: &str, checkout: &Path, newest: &Path) -> Self {
        let target = std::env::var_os("CARGO_TARGET_DIR");
        let target =
            target.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../target").into());
        let scratch = path::absolute(target).expect("a path").join("pair");
        let own = checkout.join("benches/probe");
        let source = if own.exists() { own } else { newest.to_owned() };
        let package = scratch.join(name);
        fs::create_dir_all(package.join("src")).expect("a folder below cargo's");
        let core = checkout.join("redlock-core");
        let core = core.canonicalize().expect("a checkout of this project");
        let manifest = fs::read_to_string(source.join("Cargo.toml")).expect("a probe's manifest");
        let manifest = manifest
            .replace(
                "../../redlock-core",
                core.to_str().expect("a path in UTF-8"),
            )
            .replace("[lints]\nworkspace = true", "[workspace]");
        fs::write(package.join("Cargo.toml"), manifest).expect("it can be written");
        for (from, to) in [
            (checkout.join("Cargo.lock"), "Cargo.lock"),
            (source.join("src/main.rs"), "src/main.rs"),
        ] {
            fs::copy(&from, package.join(to)).expect("it can be copied");
        }
        let build = |feature: &[&str], program: &str| {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut command = Command::new(cargo);
            command
                .args(["build", "--release", "--quiet", "--offline"])
                .args(feature)
                .current_dir(&package)
                .env("CARGO_TARGET_DIR", scratch.join("target"));
            let status = command.status().expect("cargo runs");
            assert!(
                status.success(),
                "{} does not compile against {}: give a probe that does by --probe",
                source.display(),
                checkout.display(),
            );
            let built = scratch.join("target/release/redlock-probe");
            let kept = package.join(program);
            fs::copy(built, &kept).expect("the program");
            kept
        };
        Self {
            plain: build(&[], "plain"),
            counting: build(&["--features", "counting"], "counting"),
        }
    }

    /// Returns the allocations a pair.
    pub(super) fn allocations(&self, urls: &[String], order: &str) -> Option<f64> {
        let ([pairs, _, allocations], _) = count(Command::new(&self.counting).args(urls), order)?;
        Some(allocations / pairs)
    }

    /// Returns the instructions a pair, as Valgrind counts them; `None` if it cannot run the program.
    pub(super) fn instructions(&self, urls: &[String], order: &str) -> Option<f64> {
        let count = |order| {
            let mut valgrind = Command::new("valgrind");
            valgrind.args([
                "--tool=cachegrind",
                "--cache-sim=no",
                "--cachegrind-out-file=/dev/null",
            ]);
            let ([pairs, ..], report) = count(valgrind.arg(&self.counting).args(urls), order)?;
            let (_, counted) = report.lines().find_map(|line| line.split_once("refs:"))?;
            let counted = counted.trim().replace(',', "").parse::<f64>().ok()?;
            Some((pairs, counted))
        };
        let (_, idle) = count("0 0")?;
        let (pairs, counted) = count(order)?;
        Some((counted - idle) / pairs)
    }
}

/// Runs a probe of its own for one order. Returns its answer and what the command reports.
fn count(command: &mut Command, order: &str) -> Option<(Answer, String)> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().ok()?;
    writeln!(child.stdin.take()?, "{order}").ok()?;
    let output = child.wait_with_output().ok()?;
    let answers = String::from_utf8(output.stdout).ok()?;
    let answer = serde_json::from_str(answers.lines().last()?).ok()?;
    Some((answer, String::from_utf8_lossy(&output.stderr).into_owned()))
}
