//! Runs seeds, as many as one likes, and says which broke what.
//!
//! ```text
//! simulate --seeds 1000000 [--from N] [--profile calm|faulty|forgetful|wild|sharing] [--jobs N]
//! simulate --seed N [--profile …] [--trace]
//! simulate --seeds N --until Exclusion     stops at the first seed that breaks that one
//! ```

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use redlock_simulation::{Coverage, Profile, Report, run};

/// The number of failing seeds after which the program stops.
const MOST_FAILURES: usize = 10;

/// The number of seeds after which the program reports its progress.
const TELLS_EVERY: u64 = 50_000;

struct Arguments {
    from: u64,
    seeds: u64,
    profile: Option<Profile>,
    jobs: usize,
    is_traced: bool,
    /// The name of the one rule to look for.
    until: Option<String>,
}

impl Arguments {
    fn parse() -> Result<Self, String> {
        let mut parsed = Self {
            from: 0,
            seeds: 1000,
            profile: None,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            is_traced: false,
            until: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            if word == "--trace" {
                parsed.is_traced = true;
                continue;
            }
            let value = words.next().ok_or(format!("{word} takes a value"))?;
            let number = || {
                value
                    .parse::<u64>()
                    .map_err(|_| format!("{word} takes a number, not {value}"))
            };
            match &*word {
                "--seeds" => parsed.seeds = number()?,
                "--from" => parsed.from = number()?,
                "--seed" => (parsed.from, parsed.seeds) = (number()?, 1),
                "--jobs" => parsed.jobs = usize::try_from(number()?).unwrap_or(1).max(1),
                "--until" => parsed.until = Some(value),
                "--profile" => {
                    let profile = Profile::named(&value);
                    parsed.profile = Some(profile.ok_or(format!("there is no profile {value}"))?);
                }
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
            eprintln!("simulate: {error}");
            return ExitCode::from(2);
        }
    };
    let began = Instant::now();
    let next = AtomicU64::new(arguments.from);
    let end = arguments.from.saturating_add(arguments.seeds);
    let is_over = AtomicBool::new(false);
    let all = Mutex::new((Coverage::default(), Vec::<(u64, Report)>::new()));
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            scope.spawn(|| {
                let mut coverage = Coverage::default();
                while !is_over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    if seed.is_multiple_of(TELLS_EVERY) && arguments.seeds > TELLS_EVERY {
                        eprintln!("seed {seed} after {:.0} s", began.elapsed().as_secs_f64());
                    }
                    let mut report = run(seed, arguments.profile, arguments.is_traced);
                    coverage += report.coverage;
                    if let Some(until) = &arguments.until {
                        (report.violations)
                            .retain(|violation| format!("{:?}", violation.invariant) == *until);
                    }
                    if arguments.is_traced {
                        for line in &report.trace {
                            println!("{line}");
                        }
                    }
                    if report.violations.is_empty() {
                        continue;
                    }
                    eprintln!("seed {seed} violates {}", report.violations[0]);
                    if let Ok(mut all) = all.lock() {
                        all.1.push((seed, report));
                        let is_enough = all.1.len() >= MOST_FAILURES || arguments.until.is_some();
                        is_over.fetch_or(is_enough, Ordering::Relaxed);
                    }
                }
                if let Ok(mut all) = all.lock() {
                    all.0 += coverage;
                }
            });
        }
    });
    let Ok((coverage, failures)) = all.into_inner() else {
        return ExitCode::from(2);
    };
    tell(
        &arguments,
        &coverage,
        failures,
        next.into_inner().min(end),
        began,
    )
}

fn tell(
    arguments: &Arguments,
    coverage: &Coverage,
    mut failures: Vec<(u64, Report)>,
    end: u64,
    began: Instant,
) -> ExitCode {
    let seconds = began.elapsed().as_secs_f64();
    let count = u32::try_from(end - arguments.from).unwrap_or(u32::MAX);
    println!("{coverage}");
    println!(
        "{count} seeds from {} in {seconds:.1} s, {:.0} a second",
        arguments.from,
        f64::from(count) / seconds,
    );
    failures.sort_by_key(|(seed, _)| *seed);
    for (seed, report) in &failures {
        for violation in &report.violations {
            println!("seed {seed} violates {violation}");
        }
        let profile = report.settings.profile;
        println!(
            "  replay: cargo run --release -p redlock-simulation -- --seed {seed} --profile \
             {profile:?} --trace"
        );
    }
    if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
