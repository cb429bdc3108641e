//! Seeds of the simulation of the node driver: a few for every day, and as many as forty seconds take.
//! The program `drive` has as many as one likes.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use redlock_simulation::driver::{again, run};

/// The number of seeds in one run of all tests.
const MANY: u64 = 20_000;

/// A slow machine runs fewer seeds: it stops after this time, once all of [`USUAL`] has happened.
const LONGEST: Duration = Duration::from_secs(40);

/// What some thousand seeds go through: a simulation that silently does nothing holds as well.
const USUAL: [&str; 49] = [
    "connected",
    "not connected",
    "locks",
    "refused locks",
    "not extended",
    "granted",
    "held by another",
    "failed before it was sent",
    "failed when it was sent",
    "served late",
    "served in vain",
    "noscript",
    "batches of releases",
    "releases of what is gone in a batch",
    "nomarker",
    "refused",
    "asked",
    "moved",
    "told to try again",
    "slot moved",
    "slot unserved",
    "failed over",
    "broken",
    "silent",
    "garbage",
    "half-written",
    "hung",
    "restarted empty",
    "marker lost",
    "noscript of a kind",
    "permits granted",
    "permits",
    "readers",
    "writers",
    "refused permits",
    "refused readers",
    "refused writers",
    "extended, of a kind",
    "lent",
    "taken back",
    "taken back with an answer outstanding",
    "ended while it was lent",
    "ended with a loan",
    "ended with a loan and an answer outstanding",
    "stood still with a loan",
    "dropped within a loan",
    "watches no sockets",
    "probed loans",
    "many callers within a loan",
];

fn is_usual(counts: &BTreeMap<&'static str, u64>) -> bool {
    USUAL.iter().all(|name| counts.contains_key(name))
}

/// Runs `seeds` seeds on all cores. After `longest` it stops as soon as all of [`USUAL`] has happened.
/// Panics with the first seed that fails.
fn all_hold(seeds: u64, longest: Duration) -> BTreeMap<&'static str, u64> {
    let began = Instant::now();
    let (next, all) = (AtomicU64::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while began.elapsed() < longest || !is_usual(&all.lock().unwrap()) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let report = run(seed, false);
                    if let Some(violation) = report.violations.first() {
                        panic!("seed {seed}: {violation}\n{}", again(seed));
                    }
                    let mut all = all.lock().unwrap();
                    *all.entry("seeds").or_default() += 1;
                    for (name, count) in report.counts {
                        *all.entry(name).or_default() += count;
                    }
                }
            });
        }
    });
    let all = all.into_inner().unwrap();
    println!("{all:#?}");
    all
}

fn assert_repeatable(seeds: u64) {
    for seed in 0..seeds {
        let (one, two) = (run(seed, true), run(seed, true));
        assert!(one.trace.len() > 10);
        for (place, (one, two)) in one.trace.iter().zip(&two.trace).enumerate() {
            assert_eq!(one, two, "line {place} of seed {seed}");
        }
        assert_eq!((one.digest, &one.counts), (two.digest, &two.counts));
        assert_eq!(
            run(seed, false).digest,
            one.digest,
            "a trace changes nothing"
        );
        assert_ne!(run(seed + 1000, false).digest, one.digest);
    }
}

mod in_small {
    use super::*;

    #[test]
    fn everything_holds() {
        let counts = all_hold(30, Duration::MAX);
        assert!(counts["connected"] > 100);
    }

    #[test]
    fn a_seed_is_the_same_run_each_time() {
        assert_repeatable(3);
    }
}

mod in_full {
    use super::*;

    #[test]
    fn everything_holds() {
        let counts = all_hold(MANY, LONGEST);
        for name in USUAL {
            assert!(counts.contains_key(name), "`{name}` never happened");
        }
    }

    #[test]
    fn a_seed_is_the_same_run_each_time() {
        assert_repeatable(30);
    }
}
