//! What the tests ask of a search.

use crate::search::{Counterexample, Model, explore};

/// Beyond this a model got out of hand: some 2 GiB.
const MOST: usize = 25_000_000;

/// Asserts that the model keeps its promise in all its states, and reaches all of `landmarks`. It must
/// have at least `states` states, so that a model in which nothing happens does not pass.
///
/// # Panics
/// With the counterexample, or with the landmarks that were not reached.
#[track_caller]
pub fn holds<M: Model>(model: &M, states: usize, landmarks: u32) {
    let report = explore(model, MOST);
    println!("{}: {report}", test_name());
    assert!(report.counterexample.is_none(), "{report}");
    assert!(report.states >= states, "only {report}");
    let missed = landmarks & !report.landmarks;
    assert_eq!(missed, 0, "never reached: {missed:#b}");
}

/// The model breaks its promise, and the shortest way there takes `steps`.
///
/// # Panics
/// Where it does not, or where the way has another length, which means that the model changed.
#[track_caller]
pub fn breaks<M: Model>(model: &M, steps: usize) -> Counterexample {
    let report = explore(model, MOST);
    println!("{}: {report}", test_name());
    let Some(counterexample) = report.counterexample else {
        panic!("no violation was found in {report}");
    };
    assert_eq!(counterexample.steps.len(), steps, "\n{counterexample}");
    counterexample
}

/// The test harness names threads after tests.
fn test_name() -> String {
    let thread = std::thread::current();
    thread.name().unwrap_or("search").to_owned()
}
