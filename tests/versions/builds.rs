//! Other builds of the program: of an earlier commit, and of this one without features.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use redlock_tests::profile_dir;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// The packages that each checkout has.
const OURS: [&str; 4] = [
    "redlock-version-tests",
    "redlock-core",
    "redlock-macros",
    "redlock-runtime",
];

/// Builds the program of the last release, or else of the commit in the file `older_build`, with the present versions
/// of dependencies. Returns its path.
pub(crate) fn older() -> PathBuf {
    let commit = older_commit();
    let checkout = target().join(&commit);
    // A checkout that was interrupted is incomplete.
    let _ = fs::remove_dir_all(&checkout);
    fs::create_dir_all(&checkout).expect("a folder below cargo's");
    let archive = target().join("older.tar");
    git(["archive", "--output", text(&archive), &commit]).expect("the commit is there");
    let mut tar = Command::new("tar");
    run(tar.args(["-xf", text(&archive), "-C", text(&checkout)])).expect("an archive of git");
    let lock_file = root().join("Cargo.lock");
    fs::copy(lock_file, checkout.join("Cargo.lock")).expect("a lock file");
    build(&checkout)
}

/// Builds the present program without the features that the workspace's build has. Returns its path.
pub(crate) fn featureless() -> PathBuf {
    build(root())
}

/// Returns the commit of the older build, which is no tag of the present commit. A shallow clone, or a folder without history, lacks it.
fn older_commit() -> String {
    let tag = git([
        "describe",
        "--tags",
        "--abbrev=0",
        "--match",
        "v[0-9]*",
        "HEAD^",
    ]);
    let recorded = || fs::read_to_string(Path::new(PACKAGE).join("older_build"));
    let commit = tag.unwrap_or_else(|_| recorded().expect("the file with a commit"));
    let commit = commit.trim();
    if let Err(error) = git(["cat-file", "-e", &format!("{commit}^{{commit}}")]) {
        panic!(
            "not run: there is no older build, because this checkout lacks the commit {commit}: {error}; clone the \
             repository with its history, or run `git fetch --unshallow --tags`"
        );
    }
    commit.to_owned()
}

/// Builds the program of a checkout, with no features but its own. Returns its path.
fn build(checkout: &Path) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // Cargo takes the crates of another checkout for those of this one, because only their folders differ.
    cargo(checkout, &["clean"], &OURS);
    cargo(checkout, &["build", "--bin", "contender"], &OURS[..1]);
    // The next build has the same name.
    let name = checkout.file_name().expect("a folder with a name");
    let program = target().join(name).with_extension("program");
    fs::copy(target().join("debug/contender"), &program).expect("the program");
    program
}

/// Runs a command of cargo for `packages`.
fn cargo(checkout: &Path, command: &[&str], packages: &[&str]) {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(cargo);
    cargo.args(command).args(["--quiet", "--offline"]);
    cargo.args(packages.iter().map(|it| format!("--package={it}")));
    cargo
        .arg("--target-dir")
        .arg(target())
        .current_dir(checkout);
    if let Err(error) = run(&mut cargo) {
        panic!("cargo fails in {}: {error}", checkout.display());
    }
}

/// Returns the folder of these builds, which share their dependencies.
fn target() -> PathBuf {
    profile_dir().with_file_name("versions")
}

/// Returns the folder of the workspace.
fn root() -> &'static Path {
    let root = Path::new(PACKAGE).ancestors().nth(2);
    root.expect("the tests are in a workspace")
}

fn git<const N: usize>(arguments: [&str; N]) -> Result<String, String> {
    run(Command::new("git").args(arguments).current_dir(root()))
}

/// Runs a command to its end. Returns its output, or its complaint.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}
