//! One benchmark program: its groups, one after the other, and the verdict.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use redlock_tests::{NodeOptions, Nodes, RedisNode};

use crate::plan::{Mode, Plan};
use crate::report::Report;

/// Runs the groups that are wanted, prints their figures and writes them to files.
#[derive(Debug)]
pub struct Suite {
    plan: Plan,
    directory: PathBuf,
    problems: Vec<String>,
}

impl Suite {
    /// Prepares what the command line asks for. The results of a full run go where they are committed, and those of
    /// any other into `scratch`, unless the command line names a folder.
    pub fn from_command_line(scratch: &str) -> Self {
        let mut plan = Plan::from_command_line();
        plan.scratch = scratch.into();
        let directory = plan.results.clone().unwrap_or_else(|| match plan.mode {
            Mode::Full => Path::new(env!("CARGO_MANIFEST_DIR")).join("results"),
            Mode::Short => plan.scratch.join("redlock-short"),
            Mode::Smoke => plan.scratch.join("redlock-smoke"),
        });
        Self {
            plan,
            directory,
            problems: Vec::new(),
        }
    }

    /// Measures `group` on that many servers, if it is wanted, and writes its results.
    pub fn measure(
        &mut self,
        group: &str,
        servers: usize,
        measure: impl FnOnce(&Plan, &Nodes, &mut Report),
    ) {
        if !self.plan.wants(group) {
            return;
        }
        println!("\n== {group}, {:?}", self.plan.mode);
        let nodes: Nodes = (0..servers)
            .map(|_| RedisNode::start_blocking(NodeOptions::default()))
            .collect();
        let mut report = Report::default();
        let began = Instant::now();
        measure(&self.plan, &nodes, &mut report);
        for table in report.tables() {
            println!("\n{table}");
        }
        println!(
            "\n{} pairs, {} s in all",
            report.pairs,
            began.elapsed().as_secs()
        );
        let file = self.directory.join(group).with_extension("csv");
        let about = about(&self.plan, &nodes, report.pairs);
        match write(&file, &report.csv(&about)) {
            Ok(()) => println!("tables: benches/tables {}", self.directory.display()),
            Err(error) => self.problems.push(format!("{}: {error}", file.display())),
        }
        self.problems.append(&mut report.problems);
    }

    /// Says whether every pair locked, excluded others and cleaned up. Otherwise the figures compare nothing, and the
    /// program fails.
    pub fn end(self) -> ExitCode {
        if self.problems.is_empty() {
            return ExitCode::SUCCESS;
        }
        let problems = self.problems.join("\n  ");
        eprintln!("\n{} PROBLEMS:\n  {problems}", self.problems.len());
        ExitCode::FAILURE
    }
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(file.parent().expect("a file in a folder"))?;
    fs::write(file, text)
}

/// Describes the run and the machine, as far as the system tells.
fn about(plan: &Plan, nodes: &Nodes, pairs: usize) -> String {
    let date = Command::new("date").arg("+%F").output();
    let date = date.map_or_else(|_| Vec::new(), |date| date.stdout);
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = info.lines().find(|line| line.starts_with("model name"));
    let processor = processor.and_then(|line| line.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let server = nodes
        .iter()
        .next()
        .and_then(|node| node.info("redis_version"));
    format!(
        "{:?} run of {}, {pairs} pairs. On: {}, {cores} cores, {} {}{}",
        plan.mode,
        String::from_utf8_lossy(&date).trim(),
        processor.map_or("", |(_, name)| name),
        std::env::consts::OS,
        kernel.trim(),
        server.map_or_else(String::new, |version| format!(", redis-server {version}")),
    )
}
