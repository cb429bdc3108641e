//! A test of the test: the algorithm is broken on purpose, in every way that comes to mind, and the
//! simulation has to see it.
//!
//! The mutants are changes of a copy of the sources, so that nothing in the product can be switched
//! off. The copy is built once, below the target directory, with all mutants in it. For each mutant
//! `simulate` runs until it finds the violation that is expected. If it finds none, the test fails.

mod copy;
mod table;
mod waiting;
mod weave;

use std::collections::BTreeMap;

use copy::Copy;
use table::{MUTANTS, Mutant};
use waiting::WAITING;

/// All mutants, or those that `MUTANTS=name,name` names.
fn chosen() -> Vec<&'static Mutant> {
    let wanted = std::env::var("MUTANTS").unwrap_or_default();
    let is_wanted =
        |mutant: &&Mutant| wanted.is_empty() || wanted.split(',').any(|name| mutant.name == name);
    MUTANTS.iter().chain(WAITING).filter(is_wanted).collect()
}

#[test]
fn every_mutant_of_the_algorithm_is_caught_by_the_rule_that_it_breaks() {
    let mutants = chosen();
    assert!(!mutants.is_empty(), "MUTANTS names no mutant");
    let copy = Copy::make("mutants");
    copy.build_with(&mutants).unwrap_or_else(|problem| panic!("{problem}"));
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
        copy.run_unchanged(profile, last + 1);
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
