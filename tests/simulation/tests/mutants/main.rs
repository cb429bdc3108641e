//! A test of the test: the algorithm is broken on purpose, in every way that comes to mind, and the
//! simulation has to see it.
//!
//! Each mutant is a patch on a copy of the sources, so that nothing in the product can be switched
//! off. The copy is built below the target directory and its `simulate` is run until it finds the
//! violation that is expected; not to find it fails the test, and so does a patch that no longer
//! fits.

mod copy;
mod table;
mod waiting;

use std::collections::BTreeMap;

use copy::Copy;
use table::{MUTANTS, Mutant};
use waiting::WAITING;

/// `MUTANTS=name,name` runs only these.
fn chosen() -> Vec<&'static Mutant> {
    let wanted = std::env::var("MUTANTS").unwrap_or_default();
    let is_wanted =
        |mutant: &&Mutant| wanted.is_empty() || wanted.split(',').any(|name| mutant.name == name);
    MUTANTS.iter().chain(WAITING).filter(is_wanted).collect()
}

/// A second to know, where the other test takes minutes.
#[test]
fn every_patch_fits() {
    let copy = Copy::make("patches");
    let misfits = chosen()
        .into_iter()
        .filter_map(|mutant| Some(format!("{}: {}", mutant.name, copy.fits(mutant).err()?)));
    let misfits: Vec<_> = misfits.collect();
    assert!(misfits.is_empty(), "{misfits:#?}");
}

#[test]
fn every_mutant_of_the_algorithm_is_caught_by_the_rule_that_it_breaks() {
    let copy = Copy::make("mutants");
    let mut failures = Vec::new();
    // The last seed that was needed, by profile.
    let mut needed = BTreeMap::new();
    for mutant in chosen() {
        match copy.run(mutant) {
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
