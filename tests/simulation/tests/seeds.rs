//! Seeds of every profile: some thousands, and a few for every day.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use redlock_simulation::{Coverage, Profile, run};

/// Runs `seeds` seeds of `profile` on all cores. Panics with the first that fails.
fn all_hold(profile: Profile, seeds: u64) -> Coverage {
    let (next, all) = (AtomicU64::new(0), Mutex::new(Coverage::default()));
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let report = run(seed, Some(profile), false);
                    assert!(
                        report.violations.is_empty(),
                        "{}\nreplay: cargo run --release -p redlock-simulation -- --seed {seed} \
                         --profile {profile:?} --trace",
                        report.violations[0],
                    );
                    *all.lock().unwrap() += report.coverage;
                }
            });
        }
    });
    all.into_inner().unwrap()
}

/// How often a thing happens in some thousands of seeds at least.
const OFTEN: u64 = 20;

/// A simulation that silently does nothing holds as well.
fn assert_covers(coverage: &Coverage, at_least: u64, names: &[&str]) {
    println!("{coverage}");
    for wanted in names {
        let (_, count) = coverage
            .all()
            .find(|(name, _)| name == wanted)
            .unwrap_or_else(|| panic!("there is no count `{wanted}`"));
        assert!(count > at_least, "{wanted} happened {count} times only");
    }
}

/// What every profile goes through.
const USUAL: [&str; 20] = [
    "acquired",
    "acquired_fenced",
    "acquired_several",
    "contended",
    "cancelled",
    "extended",
    "released",
    "dropped",
    "probed",
    // Callers of one process that want the same lock.
    "queued",
    "turned_away",
    "taken_over",
    "followed",
    "handed_over",
    "broke_off",
    "lost_in_line",
    "cancelled_in_line",
    "cancelled_at_turn",
    // What nodes tell those who wait.
    "told",
    "woken",
];

/// What goes wrong in all of them but the calm one.
const FAULTY: [&str; 19] = [
    "unavailable",
    "held_late",
    "born_over",
    "extension_failed",
    "confirmed",
    "restored",
    "expired",
    "unconfirmed",
    "owed",
    "late",
    "broken",
    "hung",
    "restarted",
    "paused",
    "stalled",
    "overtaken",
    "blinded",
    // Servers that answer with errors.
    "errors",
    "refused",
];

/// What the wild profile alone goes through.
const WILD: [&str; 5] = [
    "stepped",
    "deleted",
    "taken",
    "given_up",
    "confirmation_refused",
];

const FORGETFUL: [&str; 4] = ["wiped", "rolled_back", "quarantined", "forgotten"];

const PERMITS: [&str; 13] = [
    "acquired_permits",
    "passed_over",
    "strayed",
    "strayed_late",
    "contended",
    "cancelled",
    "cancelled_in_line",
    "extended",
    "released",
    "dropped",
    "probed",
    "queued",
    "told",
];

const FAULTY_PERMITS: [&str; 10] = [
    "unavailable",
    "extension_failed",
    "restored",
    "expired",
    "owed",
    "late",
    "broken",
    "restarted",
    "paused",
    "errors",
];

const SHARING: [&str; 12] = [
    "acquired_fenced",
    "contended",
    "cancelled",
    "extended",
    "released",
    "confirmed",
    "restored",
    "owed",
    "zombies",
    "read_beside",
    "behind_a_writer",
    "behind_readers",
];

/// A few seeds of each profile, for every day.
mod in_small {
    use super::*;

    #[test]
    fn everything_holds_in_every_profile() {
        for (profile, seeds) in [
            (Profile::Calm, 10),
            (Profile::Faulty, 40),
            (Profile::Forgetful, 40),
            (Profile::Wild, 40),
            (Profile::Misset, 10),
            (Profile::Permits, 40),
            // Few of its locks are handed over: only the plain ones.
            (Profile::Sharing, 200),
        ] {
            let coverage = all_hold(profile, seeds);
            assert_covers(&coverage, 1, &["acquired", "contended"]);
            // A permit is not handed over.
            let special: &[_] = match profile {
                Profile::Permits => &["acquired_permits", "strayed"],
                _ => &["acquired_fenced", "handed_over", "queued"],
            };
            assert_covers(&coverage, 1, special);
        }
    }

    #[test]
    fn a_seed_is_the_same_run_each_time() {
        assert_repeatable(3);
    }
}

mod in_full {
    use super::*;

    #[test]
    fn everything_holds_where_nothing_fails() {
        assert_covers(&all_hold(Profile::Calm, 1000), OFTEN, &USUAL);
    }

    #[test]
    fn everything_holds_with_bad_networks_clocks_and_clients() {
        let coverage = all_hold(Profile::Faulty, 3000);
        assert_covers(&coverage, OFTEN, &[&USUAL[..], &FAULTY].concat());
        assert_covers(&coverage, OFTEN, &["zombies", "confirmation_refused"]);
    }

    #[test]
    fn everything_holds_when_nodes_forget() {
        let coverage = all_hold(Profile::Forgetful, 3000);
        assert_covers(
            &coverage,
            OFTEN,
            &[&USUAL[..], &FAULTY, &FORGETFUL].concat(),
        );
    }

    #[test]
    fn tokens_are_in_order_with_wild_clocks_and_deleted_locks() {
        let coverage = all_hold(Profile::Wild, 2000);
        assert_covers(&coverage, OFTEN, &[&USUAL[..], &FAULTY, &WILD].concat());
    }

    #[test]
    fn tokens_are_in_order_when_wrong_clocks_are_mended() {
        let coverage = all_hold(Profile::Misset, 400);
        assert_covers(&coverage, OFTEN, &["acquired_fenced", "mended", "probed"]);
    }

    #[test]
    fn each_permit_has_one_owner_in_a_bad_network() {
        let coverage = all_hold(Profile::Permits, 2000);
        assert_covers(&coverage, OFTEN, &PERMITS);
        assert_covers(&coverage, OFTEN, &FAULTY_PERMITS);
    }

    #[test]
    fn readers_and_writers_exclude_each_other() {
        let coverage = all_hold(Profile::Sharing, 3000);
        assert_covers(&coverage, OFTEN, &SHARING);
        assert_covers(&coverage, OFTEN, &["wiped", "rolled_back"]);
    }

    #[test]
    fn a_seed_is_the_same_run_each_time() {
        assert_repeatable(40);
    }
}

fn assert_repeatable(seeds: u64) {
    for seed in 0..seeds {
        let (one, two) = (run(seed, None, true), run(seed, None, true));
        assert!(one.trace.len() > 10);
        for (place, (one, two)) in one.trace.iter().zip(&two.trace).enumerate() {
            assert_eq!(one, two, "line {place} of seed {seed}");
        }
        assert_eq!(one.trace.len(), two.trace.len());
        assert_eq!((one.digest, one.coverage), (two.digest, two.coverage));
        let untraced = run(seed, None, false);
        assert_eq!(one.digest, untraced.digest, "a trace changes nothing");
        let other = run(seed + 1000, None, false);
        assert_ne!(one.digest, other.digest, "another seed is another run");
    }
}
