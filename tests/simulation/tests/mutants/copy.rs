//! A copy of the sources with all mutants in it, built as this test was built.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::table::Mutant;
use crate::weave::{SWITCH, Weave};

/// The packages that are copied, from the workspace's root.
const PACKAGES: [&str; 2] = ["redlock-core", "tests/simulation"];

/// The name of the copy's program, so that it takes no other program's place.
const PROGRAM: &str = "simulate-mutants";

/// The program of the copy.
pub(crate) struct Simulation(PathBuf);

impl Simulation {
    /// Builds the copy with `mutants`, each behind its number. Panics if one of them does not fit.
    pub(crate) fn build(mutants: &[&'static Mutant]) -> Self {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let workspace = package.ancestors().nth(2).expect("a workspace");
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants");
        let mut files = sources(workspace);
        for file in ["Cargo.toml", "Cargo.lock"] {
            files.insert(file.into(), read(&workspace.join(file)));
        }
        let mut weave = Weave::of(mutants);
        for (file, text) in &mut files {
            if file.ends_with("Cargo.toml") {
                *text = manifest_of_copy(text);
            } else if file.extension().is_some_and(|extension| extension == "rs") {
                weave.weave_file(text);
            }
        }
        weave.assert_fitted();
        *files.entry("redlock-core/src/lib.rs".into()).or_default() += SWITCH;
        write_all(&root, &files);
        build(&root)
    }

    /// Runs seeds with no mutant on, which has to hold.
    pub(crate) fn run_unchanged(&self, arguments: &[&str]) {
        let (is_success, told) = self.run(None, arguments);
        assert!(is_success, "the unchanged copy fails:\n{told}");
        println!("unchanged, {arguments:?}: {}", last_line(&told));
    }

    /// Runs the mutant with that number until it is caught. Returns the seed that caught it, and what was found, or the
    /// last line if nothing was.
    pub(crate) fn catch(&self, number: usize, arguments: &[&str]) -> (Option<u64>, String) {
        let (_, told) = self.run(Some(number), arguments);
        let caught = told.lines().find(|line| line.contains(" violates "));
        let seed = caught.and_then(|line| line.split(' ').nth(1)?.parse().ok());
        (seed, caught.unwrap_or(last_line(&told)).to_owned())
    }

    fn run(&self, mutant: Option<usize>, arguments: &[&str]) -> (bool, String) {
        let output = Command::new(&self.0)
            .args(arguments)
            .env_remove("MUTANT")
            .envs(mutant.map(|number| ("MUTANT", number.to_string())))
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), told)
    }
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}

/// Builds the copy where this test was built, so that dependencies are not built twice.
fn build(root: &Path) -> Simulation {
    let test = std::env::current_exe().expect("this test is a program");
    let folder = test.ancestors().nth(2).expect("target/debug/deps");
    let target = folder.parent().expect("a target directory");
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let output = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet", "--profile", profile])
        .args(["--bin", PROGRAM])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("cargo runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "a mutant does not build:\n{told}");
    Simulation(folder.join(PROGRAM))
}

/// Returns the workspace's `manifest` with the copied packages only, and in a version of their own, because cargo would
/// take the libraries of the workspace, which are built into the same place, for those of the copy. Returns the `manifest`
/// of a package with the name of the copy's program.
fn manifest_of_copy(manifest: &str) -> String {
    let common = "[workspace.package]";
    let Some((_, rest)) = manifest.split_once(common) else {
        return manifest.replace("\"simulate\"", &format!("{PROGRAM:?}"));
    };
    let version = env!("CARGO_PKG_VERSION");
    let rest = rest.replacen(version, &format!("{version}+mutants"), 1);
    format!("[workspace]\nresolver = \"3\"\nmembers = {PACKAGES:?}\n{common}{rest}")
}

/// Writes `files` below `root`, and removes others. A file that is as it should be is left alone, so that cargo sees
/// that it is.
fn write_all(root: &Path, files: &BTreeMap<PathBuf, String>) {
    let stale = sources(root);
    for file in stale.keys().filter(|file| !files.contains_key(*file)) {
        fs::remove_file(root.join(file)).expect("a file can be removed");
    }
    for (file, text) in files {
        if stale.get(file) != Some(text) {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
            fs::write(path, text).expect("a file can be written");
        }
    }
}

/// The files of the packages below `root` by their names there, without those of tests.
fn sources(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let mut folders: Vec<_> = PACKAGES.map(|package| root.join(package)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !path.is_dir() {
                let name = path.strip_prefix(root).expect("it is below the root");
                files.insert(name.to_owned(), read(&path));
            } else if entry.file_name() != "tests" {
                folders.push(path);
            }
        }
    }
    files
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
