//! A copy of the sources, to be changed and built.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::table::{Mutant, SEEDS};
use crate::weave::{SWITCH, Weave};

/// What is copied, from the workspace's root.
const SOURCES: [&str; 2] = ["redlock-core", "tests/simulation"];

pub(crate) struct Copy {
    workspace: PathBuf,
    root: PathBuf,
}

impl Copy {
    /// Copies everything that is needed to build the simulation by itself, into a directory `name` of
    /// the caller's own.
    pub(crate) fn make(name: &str) -> Self {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let workspace = package.ancestors().nth(2).expect("a workspace").to_owned();
        // Next to this test's own build, so that whoever clears that clears this too.
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let copy = Self { workspace, root };
        for source in SOURCES {
            let _ = fs::remove_dir_all(copy.root.join(source));
            copy_all(&copy.workspace.join(source), &copy.root.join(source));
        }
        let manifest = read(&copy.workspace.join("Cargo.toml"));
        let (head, rest) = manifest
            .split_once("members = [")
            .expect("the workspace lists its members");
        let (_, tail) = rest.split_once(']').expect("the list ends");
        let alone = format!("{head}members = {SOURCES:?}{tail}");
        // It is built once and runs for long.
        let profile = "\n[profile.mutant]\ninherits = \"release\"\n";
        write(&copy.root.join("Cargo.toml"), &(alone + profile));
        let lockfile = read(&copy.workspace.join("Cargo.lock"));
        write(&copy.root.join("Cargo.lock"), &lockfile);
        copy
    }

    /// Puts `mutants` into the copy, each behind its number, and builds it.
    pub(crate) fn build_with(&self, mutants: &[&'static Mutant]) -> Result<(), String> {
        let sources: BTreeMap<&str, String> = mutants
            .iter()
            .flat_map(|mutant| mutant.patches)
            .map(|patch| (patch.file, read(&self.workspace.join(patch.file))))
            .collect();
        let mut weave = Weave::default();
        let mut misfits = Vec::new();
        for (number, mutant) in mutants.iter().enumerate() {
            if let Err(problem) = weave.add(number, mutant, |file| &sources[file]) {
                misfits.push(format!("{}: {problem}", mutant.name));
            }
        }
        if !misfits.is_empty() {
            return Err(format!("{misfits:#?}"));
        }
        for (file, source) in &sources {
            write(&self.root.join(file), &weave.woven(file, source));
        }
        let core = "redlock-core/src/lib.rs";
        let with_switch = read(&self.root.join(core)) + SWITCH;
        write(&self.root.join(core), &with_switch);
        self.build()
    }

    /// Runs `seeds` of `profile` with no mutant on, which has to hold.
    pub(crate) fn run_unchanged(&self, profile: &str, seeds: u64) {
        let output = self.simulate(None, &["--seeds", &seeds.to_string(), "--profile", profile]);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "the unchanged copy fails:\n{told}");
        println!("unchanged, {profile}: {}", last_line(&told));
    }

    /// Runs the mutant with that number until it is caught. The seed, and what it found; an error
    /// where there is none.
    pub(crate) fn run(&self, number: usize, mutant: &Mutant) -> Result<(u64, String), String> {
        let output = self.simulate(
            Some(number),
            &[
                "--seeds",
                &SEEDS.to_string(),
                "--profile",
                mutant.profile,
                "--until",
                &format!("{:?}", mutant.breaks),
            ],
        );
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let caught = told.lines().find(|line| line.contains(" violates "));
        let seed = caught.and_then(|line| line.split(' ').nth(1)?.parse().ok());
        match (seed, caught) {
            (Some(seed), Some(line)) => Ok((seed, line.to_owned())),
            _ => Err(format!("not caught: {}", last_line(&told))),
        }
    }

    fn build(&self) -> Result<(), String> {
        let output = Command::new(env!("CARGO"))
            .args(["build", "--offline", "--quiet", "--profile", "mutant"])
            .args(["--package", "redlock-simulation", "--bin", "simulate"])
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            // Mutants leave things unused, and nobody reads their warnings.
            .env("RUSTFLAGS", "--cap-lints=allow")
            .output()
            .expect("cargo runs");
        if output.status.success() {
            return Ok(());
        }
        Err(format!(
            "it does not build: {}",
            String::from_utf8_lossy(&output.stderr)
        ))
    }

    fn simulate(&self, mutant: Option<usize>, arguments: &[&str]) -> Output {
        Command::new(self.root.join("target/mutant/simulate"))
            .args(arguments)
            .env_remove("MUTANT")
            .envs(mutant.map(|number| ("MUTANT", number.to_string())))
            .output()
            .expect("it runs")
    }
}

fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().to_owned()
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory can be made");
    for entry in fs::read_dir(from)
        .expect("a directory can be read")
        .flatten()
    {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_all(&from, &to);
        } else {
            fs::copy(&from, &to).expect("a file can be copied");
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
