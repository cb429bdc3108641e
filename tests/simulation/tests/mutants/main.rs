//! A test of the simulation: each mutant breaks the algorithm on purpose, and the simulation has to
//! notice it.
//!
//! The mutants are changes of a copy of the sources, so that nothing in the product can be switched
//! off. The copy is built once, as this test was built, with all mutants in it. For each mutant
//! `simulate` runs until it finds the violation that is expected. If it finds none, the test fails.

mod copy;
mod kinds;
mod nodes;
mod proof;
mod table;
mod waiting;
mod weave;

use std::collections::BTreeMap;

use copy::Copy;
use kinds::KINDS;
use nodes::NODES;
use proof::PROOF;
use table::{MUTANTS, Mutant, SEEDS};
use waiting::WAITING;

/// What is built of the copy.
const PROGRAM: &str = "simulate";
const FEATURES: &str = "";

/// What the program is called with to catch `mutant`.
fn arguments(mutant: &Mutant) -> Vec<String> {
    let (seeds, rule) = (SEEDS.to_string(), format!("{:?}", mutant.breaks));
    [
        "--seeds",
        &seeds,
        "--profile",
        mutant.profile,
        "--until",
        &rule,
    ]
    .map(str::to_owned)
    .into()
}

/// One mutant for each part of the algorithm, each of them caught within a few seeds. The first one of each kind of
/// lock is another.
const HANDFUL: [&str; 5] = [
    "quorum-of-half",
    "stragglers-forgotten",
    "new-epochs-not-heeded",
    "handed-over-while-held",
    "last-come-first-served",
];

mod in_small {
    use super::*;

    #[test]
    fn a_handful_of_mutants_is_caught() {
        let is_wanted = |mutant: &&Mutant| HANDFUL.contains(&mutant.name);
        let mut mutants: Vec<_> = all().filter(is_wanted).collect();
        assert_eq!(mutants.len(), HANDFUL.len());
        mutants.extend(KINDS.iter().filter_map(|of_kind| of_kind.first()));
        assert_caught(&mutants, "handful");
    }

    /// A second to know, where the full test takes minutes.
    #[test]
    fn every_patch_fits() {
        let mutants: Vec<_> = all().collect();
        let made = Copy::make("patches", &mutants);
        assert!(made.is_ok(), "{}", made.err().unwrap_or_default());
    }
}

mod in_full {
    use super::*;

    /// `MUTANTS=name,name` has only these.
    #[test]
    fn every_mutant_of_the_algorithm_is_caught_by_the_rule_that_it_breaks() {
        let wanted = std::env::var("MUTANTS").unwrap_or_default();
        let wanted: Vec<_> = wanted.split(',').filter(|name| !name.is_empty()).collect();
        let is_known = |name: &str| all().any(|mutant| mutant.name == name);
        let unknown: Vec<_> = wanted.iter().filter(|name| !is_known(name)).collect();
        assert!(unknown.is_empty(), "MUTANTS names no mutant: {unknown:?}");
        let is_wanted = |mutant: &&Mutant| wanted.is_empty() || wanted.contains(&mutant.name);
        let mutants: Vec<_> = all().filter(is_wanted).collect();
        assert_caught(&mutants, "mutants");
    }
}

fn all() -> impl Iterator<Item = &'static Mutant> {
    let all = MUTANTS.iter().chain(PROOF).chain(NODES).chain(WAITING);
    all.chain(KINDS.iter().copied().flatten())
}

fn assert_caught(mutants: &[&'static Mutant], name: &str) {
    let copy = Copy::make(name, mutants).unwrap_or_else(|misfits| panic!("{misfits}"));
    copy.build().unwrap_or_else(|problem| panic!("{problem}"));
    let mut failures = Vec::new();
    // The last seed that was needed, by profile.
    let mut needed = BTreeMap::new();
    for (number, mutant) in mutants.iter().enumerate() {
        match copy.run(number, mutant) {
            Ok((seed, found)) => {
                println!("{:<40} {:?}: {found}", mutant.name, mutant.breaks);
                let last = needed.entry(mutant.profile).or_insert(seed);
                *last = seed.max(*last);
            }
            Err(problem) => {
                println!("{:<40} {:?}: MISSED {problem}", mutant.name, mutant.breaks);
                failures.push(format!("{}: {problem}", mutant.name));
            }
        }
    }
    for (profile, last) in needed {
        copy.run_unchanged(&["--seeds", &(last + 1).to_string(), "--profile", profile]);
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
