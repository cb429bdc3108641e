//! A copy of the sources, to be changed and built.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::table::Mutant;
use crate::weave::{SWITCH, Weave};

/// What is copied, from the workspace's root.
const SOURCES: [&str; 2] = ["redlock-core", "tests/simulation"];

pub(crate) struct Copy {
    root: PathBuf,
    /// Where this test was built, and the copy is: `target/debug`, or the folder of another profile.
    /// So dependencies are not built twice.
    built: PathBuf,
    /// What the copy's program is called, so that it takes no other program's place.
    program: String,
}

impl Copy {
    /// Copies everything that is needed to build the simulation by itself, into a directory `name` of
    /// the caller's own, with each of `mutants` in it behind its number. Returns an error if a mutant
    /// does not fit.
    pub(crate) fn make(name: &str, mutants: &[&'static Mutant]) -> Result<Self, String> {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let workspace = package.ancestors().nth(2).expect("a workspace");
        let mut files = BTreeMap::new();
        for folder in SOURCES {
            read_all(workspace, Path::new(folder), &mut files);
        }
        weave(mutants, &mut files)?;
        let manifest = read(&workspace.join("Cargo.toml"));
        let alone = manifest_of(&manifest, &SOURCES, name);
        files.insert("Cargo.toml".to_owned(), alone);
        files.insert("Cargo.lock".to_owned(), read(&workspace.join("Cargo.lock")));
        let package = "tests/simulation/Cargo.toml";
        let program = format!("{}-{name}", crate::PROGRAM);
        let named = format!("name = {:?}", crate::PROGRAM);
        let renamed = files[package].replace(&named, &format!("name = {program:?}"));
        files.insert(package.to_owned(), renamed);
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let test = std::env::current_exe().expect("this test is a program");
        let built = test
            .ancestors()
            .nth(2)
            .expect("target/debug/deps")
            .to_owned();
        let mut stale = BTreeMap::new();
        for folder in SOURCES {
            read_all(&root, Path::new(folder), &mut stale);
        }
        for file in stale.keys().filter(|file| !files.contains_key(*file)) {
            fs::remove_file(root.join(file)).expect("a file can be removed");
        }
        for (file, text) in &files {
            // A file that is as it should be is left alone, so that cargo sees that it is.
            if stale.get(file) != Some(text) {
                write(&root.join(file), text);
            }
        }
        Ok(Self {
            root,
            built,
            program,
        })
    }

    /// Runs it with no mutant on, which has to hold.
    pub(crate) fn run_unchanged(&self, arguments: &[&str]) {
        let output = self.simulate(None, arguments);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "the unchanged copy fails:\n{told}");
        println!("unchanged, {arguments:?}: {}", last_line(&told));
    }

    /// Runs the mutant with that number until it is caught. The seed, and what it found; an error
    /// where there is none.
    pub(crate) fn run(&self, number: usize, mutant: &Mutant) -> Result<(u64, String), String> {
        let arguments = crate::arguments(mutant);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let output = self.simulate(Some(number), &arguments);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let caught = told.lines().find(|line| line.contains(" violates "));
        let seed = caught.and_then(|line| line.split(' ').nth(1)?.parse().ok());
        match (seed, caught) {
            (Some(seed), Some(line)) => Ok((seed, line.to_owned())),
            _ => Err(format!("not caught: {}", last_line(&told))),
        }
    }

    pub(crate) fn build(&self) -> Result<(), String> {
        let folder = self.built.file_name().and_then(|name| name.to_str());
        let profile = match folder.expect("a folder of a profile") {
            "debug" => "dev",
            profile => profile,
        };
        let target = self.built.parent().expect("a target directory");
        let output = Command::new(env!("CARGO"))
            .args(["build", "--offline", "--quiet", "--profile", profile])
            .args(["--package", "redlock-simulation", "--bin", &self.program])
            .args(["--features", crate::FEATURES])
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", target)
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
        Command::new(self.built.join(&self.program))
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

/// Puts `mutants` into `files`, each behind its number.
fn weave(mutants: &[&'static Mutant], files: &mut BTreeMap<String, String>) -> Result<(), String> {
    let mut weave = Weave::default();
    let misfits = mutants.iter().enumerate().filter_map(|(number, mutant)| {
        let added = weave.add(number, mutant, |file| {
            files.get(file).map_or("", |text| text)
        });
        Some(format!("{}: {}", mutant.name, added.err()?))
    });
    let misfits: Vec<String> = misfits.collect();
    if !misfits.is_empty() {
        return Err(format!("{misfits:#?}"));
    }
    for (file, text) in files.iter_mut() {
        *text = weave.woven(file, text);
    }
    files
        .get_mut("redlock-core/src/lib.rs")
        .expect("the root of core")
        .push_str(SWITCH);
    Ok(())
}

/// The workspace's `manifest` with these members only, in a version named `build`: cargo would take
/// the libraries of another copy, which are built into the same place, for those of this one.
fn manifest_of(manifest: &str, members: &[&str], build: &str) -> String {
    let common = manifest.split_once("[workspace.package]\nversion = \"");
    let (_, packages) = common.expect("the workspace says what its packages have in common");
    let (version, rest) = packages.split_once('"').expect("a version");
    format!(
        "[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[workspace.package]\nversion = \
         \"{version}+{build}\"{rest}"
    )
}

/// Adds all files below `folder` of `root`, by their names below `root`.
fn read_all(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(root.join(folder))
        .into_iter()
        .flatten()
        .flatten()
    {
        let path = folder.join(entry.file_name());
        if root.join(&path).is_dir() {
            read_all(root, &path, files);
        } else {
            let name = path.to_str().expect("a name in UTF-8").to_owned();
            files.insert(name, read(&root.join(&path)));
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a directory can be made");
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
