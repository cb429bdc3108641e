//! Runs seeds of the simulation of the node driver, as many as one likes.
//!
//! ```text
//! drive --seeds 1000000 [--from N] [--jobs N]
//! drive --seed N [--trace]
//! ```
//!
//! At the end it shows how often each thing happened.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use redlock_simulation::driver::{again, run};

struct Arguments {
    from: u64,
    seeds: u64,
    jobs: usize,
    is_traced: bool,
}

impl Arguments {
    fn parse() -> Result<Self, String> {
        let mut parsed = Self {
            from: 0,
            seeds: 1000,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            is_traced: false,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            if word == "--trace" {
                parsed.is_traced = true;
                continue;
            }
            let value = words.next().and_then(|value| value.parse::<u64>().ok());
            let value = value.ok_or(format!("{word} takes a number"))?;
            match &*word {
                "--seeds" => parsed.seeds = value,
                "--from" => parsed.from = value,
                "--seed" => (parsed.from, parsed.seeds) = (value, 1),
                "--jobs" => parsed.jobs = usize::try_from(value).unwrap_or(1).max(1),
                _ => return Err(format!("{word} is not known")),
            }
        }
        Ok(parsed)
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("drive: {error}");
            return ExitCode::from(2);
        }
    };
    let next = AtomicU64::new(arguments.from);
    let end = arguments.from.saturating_add(arguments.seeds);
    let is_over = AtomicBool::new(false);
    let failed = Mutex::new(None);
    let counts = Mutex::new(BTreeMap::<&'static str, u64>::new());
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    let report = run(seed, arguments.is_traced);
                    report.trace.iter().for_each(|line| println!("{line}"));
                    if let Ok(mut counts) = counts.lock() {
                        for (name, count) in &report.counts {
                            *counts.entry(name).or_default() += count;
                        }
                    }
                    if !report.violations.is_empty()
                        && let Ok(mut failed) = failed.lock()
                    {
                        is_over.store(true, Ordering::Relaxed);
                        // The same each time: the others go on to the end of theirs.
                        let is_first = failed.as_ref().is_none_or(|(first, _)| seed < *first);
                        if is_first {
                            *failed = Some((seed, report.violations));
                        }
                    }
                }
            });
        }
    });
    match failed.into_inner() {
        Ok(None) => {
            for (name, count) in counts.into_inner().unwrap_or_default() {
                println!("{count:>9} {name}");
            }
            println!("{} seeds from {} hold", arguments.seeds, arguments.from);
            ExitCode::SUCCESS
        }
        Ok(Some((seed, violations))) => {
            for violation in violations {
                println!("seed {seed} violates {violation}");
            }
            println!("{}", again(seed));
            ExitCode::FAILURE
        }
        Err(_) => ExitCode::from(2),
    }
}
