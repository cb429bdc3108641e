//! The time to compile a program of 300 functions: with the attribute, with
//! `#[tracing::instrument]`, and with neither.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clock::cpu_time_of_children;
use crate::contender::rounds;
use crate::plan::{Mode, Plan};
use crate::report::{Named, Report};
use crate::stats::whole;

const FUNCTIONS: usize = 300;

/// Above each function of the program of that name.
const PROGRAMS: [(&str, &str); 3] = [
    ("plain", ""),
    (
        "instrument",
        "#[tracing::instrument(skip_all, fields(id = %id))]",
    ),
    (
        "redlock",
        "#[redlock_runtime::redlock(resource = \"order:{id}\", ttl = \"30s\")]",
    ),
];

/// A command of cargo's, and the directory below the target directory that it compiles into.
const COMMANDS: [(&[&str], &str); 3] = [
    (&["check"], "debug"),
    (&["build"], "debug"),
    (&["build", "--release"], "release"),
];

/// The figures of a program, in the order of [`COMMANDS`], and its size.
const FIGURES: [Named<[f64; 4]>; 4] = [
    ("check_cpu_s", |of| of[0]),
    ("dev_cpu_s", |of| of[1]),
    ("release_cpu_s", |of| of[2]),
    ("release_bytes", |of| of[3]),
];

/// Compiles each program in each way below the scratch folder, and takes the time of the processor in user
/// mode, as the clock on the wall tells what else the machine does. Dependencies are compiled before.
pub fn compile_time(plan: &Plan, report: &mut Report) {
    let workspace = Workspace::generate(plan.scratch.join("compile-time"));
    if plan.mode == Mode::Smoke {
        // Nothing is compiled: that takes minutes the first time.
        workspace.cargo(&["metadata", "--format-version", "1", "--quiet"]);
        return;
    }
    for (command, _) in COMMANDS {
        workspace.cargo(&[command, &["--quiet", "--workspace"]].concat());
    }
    let all = rounds(plan.rounds.min(3), PROGRAMS.len(), |place| {
        let program = PROGRAMS[place].0;
        let [check, dev, release] =
            COMMANDS.map(|(command, profile)| workspace.time(program, command, profile));
        report.count(FUNCTIONS);
        [check, dev, release, workspace.size(program)]
    });
    for ((program, _), rounds) in PROGRAMS.iter().zip(&all) {
        report.add("300 functions", program, &FIGURES, rounds);
    }
}

/// The generated programs, in a workspace of their own.
struct Workspace {
    directory: PathBuf,
}

impl Workspace {
    fn generate(directory: PathBuf) -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let workspace = Self { directory };
        let members = PROGRAMS.map(|(program, _)| program);
        // Stripped: the size is that of the code and its data.
        let manifest = format!(
            "[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[profile.release]\nstrip = true\n"
        );
        workspace.write("Cargo.toml", &manifest);
        let lock = fs::read_to_string(repository.join("Cargo.lock")).expect("the lock file");
        workspace.write("Cargo.lock", &lock);
        let runtime = repository.join("redlock-runtime");
        let runtime = runtime.to_str().expect("a path in UTF-8");
        for (program, attribute) in PROGRAMS {
            let manifest = format!(
                "[package]\nname = \"{program}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
                 [dependencies]\nredlock-runtime = {{ path = {runtime:?} }}\ntracing = \"0.1\"\n"
            );
            workspace.write(&format!("{program}/Cargo.toml"), &manifest);
            workspace.write(&format!("{program}/src/main.rs"), &source(attribute));
        }
        workspace
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.directory.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
        fs::write(path, content).expect("it can be written");
    }

    fn cargo(&self, arguments: &[&str]) {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(arguments)
            .arg("--offline")
            .current_dir(&self.directory)
            .env("CARGO_TARGET_DIR", self.directory.join("target"))
            .output()
            .expect("cargo runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo {arguments:?}: {errors}");
    }

    /// Returns the seconds that a first build of `program` takes, its dependencies apart.
    fn time(&self, program: &str, command: &[&str], profile: &str) -> f64 {
        let main = self.directory.join(program).join("src/main.rs");
        let source = fs::read(&main).expect("the program");
        fs::write(&main, source).expect("it can be written");
        // There is none the first time, and none of a release.
        let _ = fs::remove_dir_all(
            self.directory
                .join("target")
                .join(profile)
                .join("incremental"),
        );
        let before = cpu_time_of_children();
        self.cargo(&[command, &["--quiet", "--package", program]].concat());
        cpu_time_of_children().saturating_sub(before).as_secs_f64()
    }

    /// Returns the bytes of the released program.
    fn size(&self, program: &str) -> f64 {
        let file = self.directory.join("target/release").join(program);
        let bytes = fs::metadata(file).expect("the program").len();
        whole(usize::try_from(bytes).unwrap_or(usize::MAX))
    }
}

/// Returns a program whose functions are all compiled, because it makes a future of each.
fn source(attribute: &str) -> String {
    let mut text = HEAD.to_owned();
    for number in 0..FUNCTIONS {
        let _ = write!(
            text,
            "\n{attribute}\n\
             pub async fn f{number}(id: u64, names: Vec<String>) -> Result<u64, LockError> {{\n    \
                 let mut sum = {number};\n    \
                 for name in &names {{\n        \
                     sum += step(id).await? + name.len() as u64;\n    \
                 }}\n    \
                 Ok(sum)\n\
             }}\n"
        );
    }
    text += "\nfn main() {\n    let mut all: Vec<Boxed> = Vec::new();\n";
    for number in 0..FUNCTIONS {
        let _ = writeln!(
            text,
            "    all.push(Box::pin(f{number}({number}, Vec::new())));"
        );
    }
    text += "    println!(\"{}\", all.len());\n}\n";
    text
}

const HEAD: &str = "\
use std::future::Future;
use std::pin::Pin;

use redlock_runtime::LockError;

type Boxed = Pin<Box<dyn Future<Output = Result<u64, LockError>> + Send>>;

pub async fn step(id: u64) -> Result<u64, LockError> {
    std::future::ready(id).await;
    Ok(id)
}
";
