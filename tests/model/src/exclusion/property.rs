//! What is to hold, and what has to be reached.

use crate::attempts::name;

use super::state::{Age, Awaited, Possession};
use super::{Acquire, Exclusion, Extend, Phase, Promise, State, landmark};

impl<const NODES: usize, const ATTEMPTS: usize> Exclusion<NODES, ATTEMPTS> {
    pub(super) fn broken_promise(&self, state: &State<NODES, ATTEMPTS>) -> Option<String> {
        let attempts = || state.attempts.iter().enumerate();
        match self.promise {
            Promise::Exclusive => {
                let mut valid = attempts().filter(|(_, attempt)| attempt.phase == Phase::Valid);
                let (first, second) = (valid.next()?.0, valid.next()?.0);
                Some(format!(
                    "{} and {} have a lease at the same time",
                    name(first),
                    name(second)
                ))
            }
            Promise::Unbroken => {
                let (deceived, _) =
                    attempts().find(|(_, attempt)| attempt.possession == Possession::Unnoticed)?;
                let name = name(deceived);
                Some(format!(
                    "{name} had lost its majority in between, and has not noticed"
                ))
            }
            Promise::NobodyBetween => {
                let (deceived, attempt) =
                    attempts().find(|(_, attempt)| attempt.possession == Possession::Unnoticed)?;
                let other = attempt.between.trailing_zeros() as usize;
                Some(format!(
                    "{} had a lease in between, and {} has not noticed",
                    name(other),
                    name(deceived)
                ))
            }
        }
    }
}

pub(super) fn landmarks<const NODES: usize, const ATTEMPTS: usize>(
    state: &State<NODES, ATTEMPTS>,
) -> u32 {
    let mut seen = 0;
    let mut note = |is_so: bool, landmark: u32| {
        if is_so {
            seen |= landmark;
        }
    };
    let phase = |a: usize| state.attempts[a].phase;
    let any_attempt = |test: &dyn Fn(usize) -> bool| (0..ATTEMPTS).any(test);
    let is_valid = |a: usize| phase(a) == Phase::Valid;
    let earlier = |a: usize| phase(a) == Phase::Over && state.attempts[a].succeeded;
    note(
        any_attempt(&is_valid) && any_attempt(&earlier),
        landmark::SUCCESSION,
    );
    let keys = || state.columns.iter().map(|column| column.key);
    let largest = (1..=ATTEMPTS)
        .map(|owner| keys().filter(|key| usize::from(*key) == owner).count())
        .max();
    note(
        keys().all(|key| key != 0) && largest.is_some_and(|largest| largest <= NODES / 2),
        landmark::SPLIT,
    );
    note(
        any_attempt(&|a| phase(a) == Phase::Over && state.columns.iter().any(|c| c.is_of(a))),
        landmark::LEFTOVER_KEY,
    );
    let extended = |a: usize| is_valid(a) && state.attempts[a].won > 0;
    note(any_attempt(&extended), landmark::EXTENDED);
    let expired = |a: usize| {
        extended(a)
            && state.columns.iter().any(|column| {
                column.cells[a].acquire == Acquire::Granted
                    && column.cells[a].extend == Extend::Underway
                    && !column.is_of(a)
            })
    };
    note(any_attempt(&expired), landmark::OLD_KEY_EXPIRED);
    note(
        state
            .columns
            .iter()
            .any(|column| column.restored && column.age != Age::Old),
        landmark::RESTORED,
    );
    note(
        any_attempt(&|a| is_valid(a) && state.attempts[a].on_late_key),
        landmark::RESTS_ON_LATE_KEY,
    );
    let checked = |a: usize| {
        is_valid(a)
            && state
                .columns
                .iter()
                .any(|column| column.cells[a].awaited != Awaited::No)
    };
    note(any_attempt(&checked), landmark::CHECKED);
    seen
}
