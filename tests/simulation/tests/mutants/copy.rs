//! A copy of the sources with all mutants in it, built as this test was built.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{CHOSEN, cargo_build, profile_dir};
use crate::table::Mutant;
use crate::weave::{SWITCH, Weave};

/// The packages that are copied, from the workspace's root.
const PACKAGES: [&str; 2] = ["redlock-core", "tests/simulation"];

/// What stands in the workspace's folder and is not linked, because the copy has its own.
const NOT_LINKED: [&str; 3] = ["Cargo.lock", "Cargo.toml", "target"];

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
        link_others(workspace, &root);
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

/// Builds the copy where this test was built, and from the packages that `scripts/test` chose, so that no dependency is
/// built again with other features.
fn build(root: &Path) -> Simulation {
    let folder = profile_dir();
    let is_dev = folder.ends_with("debug");
    let package = ["--package", env!("CARGO_PKG_NAME")];
    let output = cargo_build()
        .arg("--offline")
        .args(if is_dev { &CHOSEN[..] } else { &package })
        .args(["--example", PROGRAM])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "a mutant does not build:\n{told}");
    Simulation(folder.join("examples").join(PROGRAM))
}

/// Returns a `manifest` of the copy. The workspace gets another version, because cargo would take its libraries,
/// which are built into the same place, for those of the copy. The program becomes an example, as cargo gives
/// dependencies the features that tests need for examples only.
fn manifest_of_copy(manifest: &str) -> String {
    let common = "[workspace.package]";
    let Some((members, rest)) = manifest.split_once(common) else {
        let program = format!("[[example]]\nname = {PROGRAM:?}");
        return manifest.replace("[[bin]]\nname = \"simulate\"", &program);
    };
    let version = env!("CARGO_PKG_VERSION");
    let rest = rest.replacen(version, &format!("{version}+mutants"), 1);
    format!("{members}{common}{rest}")
}

/// Links what the `workspace` has beside the copied packages into the copy at `root`: all its members decide which
/// features dependencies have.
fn link_others(workspace: &Path, root: &Path) {
    for folder in ["", "tests"] {
        for entry in fs::read_dir(workspace.join(folder)).expect("a folder of the workspace") {
            let entry = entry.expect("an entry of a folder");
            let name = Path::new(folder).join(entry.file_name());
            let is_copied = PACKAGES
                .iter()
                .any(|package| Path::new(package).starts_with(&name));
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if is_copied || is_hidden || NOT_LINKED.iter().any(|it| name == Path::new(it)) {
                continue;
            }
            match symlink(entry.path(), root.join(name)) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => panic!("{error}"),
                _ => {}
            }
        }
    }
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

/// Returns the files of the packages below `root` by their names there, without those of tests.
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
