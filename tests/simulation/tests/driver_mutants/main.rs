//! A test of the test: the node driver is broken on purpose, and its simulation has to see it.
//!
//! The mutants are made and built as those of the algorithm are.

#[path = "../mutants/copy.rs"]
mod copy;
mod kinds;
mod loans;
mod table;
#[path = "../mutants/weave.rs"]
mod weave;

use copy::Copy;
use kinds::KINDS;
use loans::LOANS;
use table::{MUTANTS, Mutant};

/// What is built of the copy.
const PROGRAM: &str = "drive";
const FEATURES: &str = "driver";

/// The seeds within which each mutant must be found: several times as many as the hardest one needs.
const SEEDS: u64 = 500;

fn all() -> impl Iterator<Item = &'static Mutant> {
    let kinds = KINDS.iter().copied().flatten();
    MUTANTS.iter().chain(LOANS).chain(kinds)
}

/// What the program is called with to catch any mutant.
fn arguments(_mutant: &Mutant) -> Vec<String> {
    ["--seeds", &SEEDS.to_string()].map(str::to_owned).into()
}

mod in_small {
    use super::*;

    #[test]
    fn every_patch_fits() {
        let mutants: Vec<_> = all().collect();
        let made = Copy::make("driver-patches", &mutants);
        assert!(made.is_ok(), "{}", made.err().unwrap_or_default());
    }
}

mod in_full {
    use super::*;

    /// `MUTANTS=name,name` has only these.
    #[test]
    fn every_mutant_of_the_driver_is_caught() {
        let wanted = std::env::var("MUTANTS").unwrap_or_default();
        let wanted: Vec<_> = wanted.split(',').filter(|name| !name.is_empty()).collect();
        let is_wanted = |mutant: &&Mutant| wanted.is_empty() || wanted.contains(&mutant.name);
        let mutants: Vec<_> = all().filter(is_wanted).collect();
        assert!(!mutants.is_empty(), "MUTANTS names no mutant");
        let copy =
            Copy::make("driver-mutants", &mutants).unwrap_or_else(|misfits| panic!("{misfits}"));
        copy.build().unwrap_or_else(|problem| panic!("{problem}"));
        let (mut missed, mut needed) = (Vec::new(), 0);
        for (number, mutant) in mutants.iter().enumerate() {
            match copy.run(number, mutant) {
                Ok((seed, found)) => {
                    let found: String = found.chars().take(120).collect();
                    println!("{:<40} {found}", mutant.name);
                    needed = seed.max(needed);
                }
                Err(problem) => missed.push(format!("{}: {problem}", mutant.name)),
            }
        }
        copy.run_unchanged(&["--seeds", &(needed + 1).to_string()]);
        assert!(missed.is_empty(), "{missed:#?}");
    }
}
