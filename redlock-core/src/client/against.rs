//! The votes against an attempt.

use crate::node::{Answer, Holding};

/// The largest number of nodes that one holder may have by the votes. A holder without a name may be
/// any holder.
pub(super) fn most_of_one_holder(answers: &[Option<Answer>]) -> usize {
    let holdings = answers.iter().filter_map(|answer| match answer {
        Some(Answer::Held(holding)) => Some(holding),
        _ => None,
    });
    let same = |holding: &Holding| {
        let same = holdings
            .clone()
            .filter(|other| other.may_be_the_same(holding));
        same.count()
    };
    holdings.clone().map(same).max().unwrap_or(0)
}
