//! A test of the simulation: each mutant breaks the algorithm on purpose, and the simulation has to
//! notice it.
//!
//! The mutants are changes of a copy of the sources, so that nothing in the product can be switched
//! off. The copy is built once, as this test was built, with all mutants in it. For each mutant
//! the simulation runs until it finds the violation that is expected. If it finds none, the test fails.

#[macro_use]
mod table;

mod attempts;
#[path = "../../../harness/cargo.rs"]
#[allow(unreachable_pub)]
mod cargo;
mod copy;
mod handover;
mod leases;
mod nodes;
mod waiting;
mod weave;

#[path = "../../../../redlock-core/src/kinds/exclusive/tests/mutants.rs"]
mod exclusive;
#[path = "../../../../redlock-core/src/kinds/fenced/tests/mutants.rs"]
mod fenced;
#[path = "../../../../redlock-core/src/kinds/permits/tests/mutants.rs"]
mod permits;
#[path = "../../../../redlock-core/src/kinds/readers_writers/tests/mutants.rs"]
mod readers_writers;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use copy::Simulation;
use table::Mutant;

/// All mutants by topic. The first one of each topic is caught within a few seeds.
const TABLES: [&[Mutant]; 9] = [
    attempts::MUTANTS,
    leases::MUTANTS,
    nodes::MUTANTS,
    handover::MUTANTS,
    waiting::MUTANTS,
    exclusive::MUTANTS,
    fenced::MUTANTS,
    permits::MUTANTS,
    readers_writers::MUTANTS,
];

static MUTANTS: LazyLock<Vec<&Mutant>> = LazyLock::new(|| TABLES.into_iter().flatten().collect());

/// The seeds within which each mutant must be found: several times as many as the hardest one needs.
const SEEDS: &str = "30000";

mod in_small {
    use super::*;

    #[test]
    fn every_mutant_fits_and_the_first_of_each_topic_is_caught() {
        assert_caught(|mutant| TABLES.iter().any(|table| table[0].name == mutant.name));
    }
}

mod in_full {
    use super::*;

    /// `MUTANTS=name,name` has only these.
    #[test]
    fn every_mutant_is_caught_by_the_rule_that_it_breaks() {
        let wanted = std::env::var("MUTANTS").unwrap_or_default();
        let wanted: Vec<_> = wanted.split(',').filter(|name| !name.is_empty()).collect();
        let is_known = |name: &str| MUTANTS.iter().any(|mutant| mutant.name == name);
        let unknown: Vec<_> = wanted.iter().filter(|name| !is_known(name)).collect();
        assert!(unknown.is_empty(), "MUTANTS names no mutant: {unknown:?}");
        assert_caught(|mutant| wanted.is_empty() || wanted.contains(&mutant.name));
    }
}

fn assert_caught(is_wanted: impl Fn(&Mutant) -> bool) {
    static SIMULATION: LazyLock<Simulation> = LazyLock::new(|| Simulation::build(&MUTANTS));
    let mut missed = Vec::new();
    // The last seed that was needed, by profile.
    let mut needed = BTreeMap::new();
    let mutants = MUTANTS.iter().enumerate();
    for (number, mutant) in mutants.filter(|(_, mutant)| is_wanted(mutant)) {
        let profile = format!("{:?}", mutant.profile);
        let rule = format!("{:?}", mutant.breaks);
        let arguments = ["--seeds", SEEDS, "--profile", &profile, "--until", &rule];
        let (seed, told) = SIMULATION.catch(number, &arguments);
        println!("{:<40} {rule}: {told}", mutant.name);
        if let Some(seed) = seed {
            let last = needed.entry(profile).or_insert(seed);
            *last = seed.max(*last);
        } else {
            missed.push(mutant.name);
        }
    }
    for (profile, last) in needed {
        SIMULATION.run_unchanged(&["--seeds", &(last + 1).to_string(), "--profile", &profile]);
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
