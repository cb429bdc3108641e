//! The throw-away project that cases and fixtures are compiled in, below the target directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use parking_lot::Mutex;

use crate::diagnostic::{Diagnostic, messages};

/// The package of the tests.
pub(crate) const TESTS: &str = env!("CARGO_MANIFEST_DIR");

/// Packages in a workspace of their own, which share all that is compiled: one an edition for the
/// fixtures, and two for the cases that have to compile.
pub(crate) struct Project {
    /// Where the manifests are.
    directory: PathBuf,
    /// Where cargo compiles to. Not the workspace's own target directory, where a cargo that works
    /// on the workspace would wait for this one.
    target: PathBuf,
    /// One cargo at a time: the other would wait for its lock, and say so.
    running: Mutex<()>,
}

/// The folders with cases that have to compile, and one with a case that must not.
pub(crate) const ACCEPTED: [&str; 2] = ["pass", "pass/other_macros"];
/// The programs of README.md, which a reader copies.
pub(crate) const FIRST: [&str; 2] = ["first_axum", "first_actix"];
pub(crate) const REFUSED: &str = "fail/other_macros";

/// What cargo said.
pub(crate) struct Report {
    /// The targets that compile.
    pub(crate) accepted: Vec<String>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Why there are none, if that is not as it should be.
    pub(crate) stderr: String,
}

/// The cases in these folders: a name for each, and its file.
pub(crate) fn cases(folders: &[&str]) -> Vec<(String, PathBuf)> {
    let files = folders.iter().flat_map(|folder| {
        let files = fs::read_dir(Path::new(TESTS).join(folder));
        files
            .expect("a folder of cases")
            .map(|file| file.expect("a file").path())
    });
    let cases = files.filter(|file| file.extension().is_some_and(|extension| extension == "rs"));
    let name = |file: &PathBuf| file.file_stem()?.to_str().map(str::to_owned);
    cases
        .map(|file| (name(&file).expect("a name in UTF-8"), file))
        .collect()
}

/// The folder of the workspace.
pub(crate) fn root() -> &'static Path {
    let root = Path::new(TESTS).ancestors().nth(2);
    root.expect("the workspace of the package")
}

/// The path of a fixture.
pub(crate) fn fixture(name: &str) -> PathBuf {
    let tests = Path::new(TESTS).parent().expect("the folder of all tests");
    tests.join("fixtures").join(name)
}

impl Project {
    /// The one project of this process.
    pub(crate) fn get() -> &'static Self {
        static PROJECT: OnceLock<Project> = OnceLock::new();
        PROJECT.get_or_init(Self::generate)
    }

    fn generate() -> Self {
        // Cargo makes `target/tmp` for the tests of a package.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .parent()
            .expect("a target directory")
            .join("tests");
        let project = Self {
            directory: target.join("fixtures"),
            target: target.join("fixtures-target"),
            running: Mutex::new(()),
        };
        project.write("Cargo.toml", WORKSPACE);
        for edition in ["2018", "2024"] {
            project.write(&format!("{edition}/Cargo.toml"), &manifest(edition));
        }
        project.write("accepted/Cargo.toml", &manifest_of_accepted());
        for name in FIRST {
            project.write_first(name);
        }
        let lock = root().join("Cargo.lock");
        let lock = fs::read_to_string(lock).expect("the workspace's Cargo.lock");
        project.write("Cargo.lock", &lock);
        project
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.directory.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
        fs::write(path, content).expect("it can be written");
    }

    /// Copies a folder of `examples/` whose manifest has a checkout beside it.
    fn write_first(&self, name: &str) {
        let read = |file: &str| {
            let path = root().join("examples").join(name).join(file);
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let manifest = read("Cargo.toml");
        let [there, here] = [
            "../redlock/redlock-runtime".into(),
            root().join("redlock-runtime"),
        ];
        assert!(manifest.contains(&quoted(&there)), "{manifest}");
        let manifest = manifest.replace(&quoted(&there), &quoted(&here));
        self.write(&format!("{name}/Cargo.toml"), &manifest);
        self.write(&format!("{name}/src/main.rs"), &read("src/main.rs"));
    }

    /// `cargo check` with these arguments.
    pub(crate) fn check(&self, arguments: &[&str]) -> Report {
        self.report("check", arguments, &[])
    }

    /// `cargo clippy` with these arguments, with lints that the command line turns on.
    pub(crate) fn clippy(&self, arguments: &[&str], lints: &[&str]) -> Report {
        let version = self.cargo(&["clippy", "--version"]);
        assert!(
            version.status.success(),
            "`cargo clippy` does not run; install it: rustup component add clippy\n{}",
            String::from_utf8_lossy(&version.stderr),
        );
        self.report("clippy", arguments, lints)
    }

    fn report(&self, command: &str, arguments: &[&str], lints: &[&str]) -> Report {
        let target = self.target.to_str().expect("a path in UTF-8");
        let mut all = vec![command, "--offline", "--keep-going"];
        all.extend(["--message-format=json", "--target-dir", target]);
        all.extend(arguments);
        if !lints.is_empty() {
            all.push("--");
            all.extend(lints);
        }
        let output = self.cargo(&all);
        let (accepted, diagnostics) = messages(&String::from_utf8_lossy(&output.stdout));
        Report {
            accepted,
            diagnostics,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn cargo(&self, arguments: &[&str]) -> Output {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let _one = self.running.lock();
        Command::new(cargo)
            .args(arguments)
            .current_dir(&self.directory)
            .output()
            .expect("cargo runs")
    }
}

const WORKSPACE: &str = r#"# Written by the test `compile` of redlock-compile-tests.
[workspace]
resolver = "3"
members = ["2018", "2024", "accepted", "first_axum", "first_actix"]

[profile.dev]
debug = false
incremental = false
"#;

/// The manifest of a package with these dependencies and targets.
fn package(name: &str, edition: &str, dependencies: &str, targets: &str) -> String {
    let runtime = quoted(&root().join("redlock-runtime"));
    let dependencies = dependencies.replace("RUNTIME", &format!("path = {runtime}"));
    format!(
        r#"# Written by the test `compile` of redlock-compile-tests.
[package]
name = "{name}"
version = "0.0.0"
edition = "{edition}"
publish = false

[features]
locked = []

[dependencies]
{dependencies}
{targets}"#
    )
}

fn target(kind: &str, name: &str, path: &Path) -> String {
    let path = quoted(path);
    let is_library = if kind == "example" {
        "crate-type = [\"lib\"]\n"
    } else {
        ""
    };
    format!("[[{kind}]]\nname = \"{name}\"\npath = {path}\n{is_library}")
}

/// A package with every fixture as a target. The crate full of functions is an example, as a
/// library of the package would be compiled with every other target.
fn manifest(edition: &str) -> String {
    let dependencies = r#"async-trait = "0.1"
redlock-runtime = { RUNTIME }
tracing = { version = "0.1", default-features = false, features = ["attributes", "std"] }
"#;
    let fixtures = [
        ("example", "quiet", "quiet/lib.rs"),
        ("bin", "types", "carets/types.rs"),
        ("bin", "borrows", "carets/borrows.rs"),
        ("bin", "lints", "slips/lints.rs"),
        ("bin", "responses", "featureless/responses.rs"),
        ("bin", "faults", "featureless/faults.rs"),
        ("example", "older", "older/lib.rs"),
    ];
    // The last one has a keyword of the edition 2024 as a name.
    let fixtures = &fixtures[..if edition == "2018" { 7 } else { 6 }];
    let target = |(kind, name, path): &(&str, &str, &str)| {
        target(kind, &format!("{name}-{edition}"), &fixture(path))
    };
    let targets: String = fixtures.iter().map(target).collect();
    package(
        &format!("fixtures-{edition}"),
        edition,
        dependencies,
        &targets,
    )
}

/// A package with every case that has to compile as a target, and with the one of `REFUSED`.
fn manifest_of_accepted() -> String {
    let dependencies = r#"actix-web = { version = "4", default-features = false, features = ["macros"] }
async-trait = "0.1"
axum = { version = "0.8", default-features = false, features = ["http1", "macros", "tokio"] }
redlock-runtime = { RUNTIME, features = ["actix", "axum"] }
tokio = { version = "1", features = ["macros", "rt-multi-thread", "sync", "time"] }
tracing = { version = "0.1", default-features = false, features = ["attributes", "std"] }
"#;
    let cases = cases(&[ACCEPTED[0], ACCEPTED[1], REFUSED]);
    let targets = cases.iter().map(|(name, file)| target("bin", name, file));
    package(
        "accepted",
        "2024",
        dependencies,
        &targets.collect::<String>(),
    )
}

/// A path as a string of TOML.
fn quoted(path: &Path) -> String {
    let path = path.to_str().expect("a path in UTF-8");
    format!("{path:?}")
}
