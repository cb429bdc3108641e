//! One benchmark program, which runs its groups one after the other.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use redlock_tests::Nodes;
use serde_json::json;

use super::{Report, document, files, machine};
use crate::group::Group;
use crate::plan::{Mode, Plan};

/// Runs the groups that are wanted and writes what they found.
#[derive(Debug)]
pub struct Suite {
    plan: Plan,
    directory: PathBuf,
    problems: Vec<String>,
}

impl Suite {
    /// As the command line says. The results of a full run go where they are committed, those of
    /// any other, unless the command line names a place, into `scratch`.
    pub fn from_command_line(scratch: &Path) -> Self {
        let plan = Plan::from_command_line();
        let directory = plan.results.clone().unwrap_or_else(|| match plan.mode {
            Mode::Full => Path::new(env!("CARGO_MANIFEST_DIR")).join("results"),
            Mode::Short | Mode::Smoke => scratch.join(format!("redlock-{}", plan.mode.name())),
        });
        Self {
            plan,
            directory,
            problems: Vec::new(),
        }
    }

    /// How long to measure.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether any of `groups` is wanted: whether to start servers at all.
    pub fn wants_any(&self, groups: &[Group]) -> bool {
        groups.iter().any(|&group| self.plan.wants(group))
    }

    /// Measures `group`, if it is wanted, and writes its results. Without `nodes` it is about this process alone.
    pub fn measure(
        &mut self,
        group: Group,
        nodes: Option<&Nodes>,
        measure: impl FnOnce(&Plan, &mut Report),
    ) {
        if !self.plan.wants(group) {
            return;
        }
        let version = nodes.and_then(|nodes| nodes[0].info("redis_version"));
        let mut about = machine::describe();
        about["redis_server"] = json!(version);
        about["mode"] = json!(self.plan.mode.name());
        let rounds = self.plan.rounds_of(group);
        about["rounds"] = json!(rounds);
        let title = group.title();
        let mode = match self.plan.mode {
            Mode::Smoke => "; a smoke run, whose figures mean nothing",
            Mode::Short | Mode::Full => "",
        };
        println!("\n== {title}; rounds: {rounds}{mode}");

        let mut report = Report::new(group, self.plan.mode, about);
        let began = Instant::now();
        measure(&self.plan, &mut report);
        let took = began.elapsed().as_secs();
        println!("\n{} pairs, {took} s in all", report.pairs);
        let written = files::write(&self.directory, &report)
            .and_then(|()| document::rewrite(&self.directory));
        match written {
            Ok(document) => println!("tables: {}", document.display()),
            Err(error) => self.problems.push(format!(
                "could not write to {}: {error}",
                self.directory.display()
            )),
        }
        self.problems.append(&mut report.problems);
    }

    /// Says whether every pair locked, excluded others and cleaned up. Where one did not, the
    /// figures compare nothing, and the program fails.
    pub fn end(self) -> ExitCode {
        if self.problems.is_empty() {
            return ExitCode::SUCCESS;
        }
        let problems = self.problems.join("\n  ");
        eprintln!("\n{} PROBLEMS:\n  {problems}", self.problems.len());
        ExitCode::FAILURE
    }
}
