//! The votes of one round.

use std::sync::Arc;

use crate::node::{Choice, Holding, Node, Vote};

use super::Tally;
use super::round::{bit, seats_in};

/// The answers by seat, and the seats by what they answered. Sets of seats are the bits of a word.
#[derive(Default)]
pub(crate) struct Votes {
    answers: Vec<Option<Vote>>,
    /// The seats that granted: of several locks, the same one, which more seats granted than any other.
    pub(crate) granted: u64,
    /// The seats that granted another one than that.
    pub(crate) strayed: u64,
    /// The seats whose grants were late.
    pub(crate) late: u64,
    /// The seats that answered that the key is held by another client.
    pub(crate) held: u64,
    /// The seats that answered that no key exists.
    pub(crate) absent: u64,
    /// The seats that did not serve the operation.
    pub(crate) failed: u64,
}

impl Votes {
    pub(crate) fn new(configured: usize) -> Self {
        Self {
            answers: vec![None; configured],
            ..Self::default()
        }
    }

    /// Records a vote. False if the seat has voted before.
    pub(crate) fn record(&mut self, seat: usize, answer: Vote, is_late: bool) -> bool {
        let Some(place @ None) = self.answers.get_mut(seat) else {
            return false;
        };
        let seats = match &answer {
            // Which one leads is found out once the answer is kept.
            Vote::Granted {
                choice: Some(_), ..
            } => &mut self.strayed,
            Vote::Granted { .. } => &mut self.granted,
            Vote::Held(_) => &mut self.held,
            Vote::Absent => &mut self.absent,
            Vote::Failed(_) => &mut self.failed,
        };
        let said = bit(seat);
        *seats |= said;
        if is_late {
            self.late |= said;
        }
        *place = Some(answer);
        if self.strayed & said != 0 {
            self.count_choice(seat);
        }
        true
    }

    fn configured(&self) -> usize {
        self.answers.len()
    }

    /// The seat has granted one of several. Those seats count as granting that granted the same one, if they are
    /// more than any others.
    fn count_choice(&mut self, seat: usize) {
        let Some(taken) = self.taken_at(seat) else {
            return;
        };
        let alike = (0..self.configured()).filter(|seat| self.taken_at(*seat) == Some(taken));
        let alike = alike.fold(0, |seats, seat| seats | bit(seat));
        if seats_in(alike) > seats_in(self.granted) {
            self.strayed = (self.strayed | self.granted) & !alike;
            self.granted = alike;
        }
    }

    /// The place of the lock that a seat granted, of several.
    fn taken_at(&self, seat: usize) -> Option<u16> {
        match self.answers.get(seat)? {
            Some(Vote::Granted { choice, .. }) => choice.as_ref()?.taken,
            _ => None,
        }
    }

    /// The place of the lock that the most seats granted, of several.
    pub(crate) fn choice(&self) -> Option<u16> {
        let granted = self.granted.trailing_zeros() as usize;
        self.taken_at(granted)
    }

    /// What the seats say of each of several.
    pub(crate) fn choices(&self) -> Vec<Arc<Choice>> {
        let votes = self.answers.iter().flatten();
        let choices = votes.filter_map(|vote| match vote {
            Vote::Granted { choice, .. } => choice.clone(),
            Vote::Held(holding) => holding.choice.clone(),
            _ => None,
        });
        choices.collect()
    }

    pub(crate) fn answered(&self) -> u64 {
        self.voted() | self.failed
    }

    /// The seats that answered and did not fail.
    pub(crate) fn voted(&self) -> u64 {
        self.granted | self.strayed | self.held | self.absent
    }

    pub(crate) fn tally(&self) -> Tally {
        Tally {
            configured: self.configured(),
            granted: seats_in(self.granted),
            held: seats_in(self.held | self.strayed),
            absent: seats_in(self.absent),
            failed: seats_in(self.failed),
        }
    }

    /// The answers, by seat. If a seat granted another than the leading one, it counts as held.
    pub(crate) fn answers(&self) -> Vec<Option<Vote>> {
        let mut answers = self.answers.clone();
        for (seat, answer) in answers.iter_mut().enumerate() {
            if let Some(Vote::Granted { choice, .. }) = answer
                && self.strayed & bit(seat) != 0
            {
                let choice = choice.take();
                *answer = Some(Vote::Held(Holding {
                    choice,
                    ..Holding::default()
                }));
            }
        }
        answers
    }

    /// The seats of `nodes` that granted and cannot have forgotten it since.
    pub(crate) fn vouching(&self, nodes: &[Arc<dyn Node>]) -> u64 {
        let answers = self.answers.iter().zip(nodes).enumerate();
        let current =
            answers.filter(|(_, (answer, node))| is_current_grant(answer.as_ref(), &***node));
        current.fold(0, |seats, (seat, _)| seats | bit(seat)) & self.granted
    }

    /// The largest number of seats at which the keys hold one value. Keys without a value are no lock, and
    /// count as one value.
    pub(crate) fn held_alike(&self) -> usize {
        let values = self.answers.iter().filter_map(|answer| match answer {
            Some(Vote::Held(holding)) => Some(&holding.value),
            _ => None,
        });
        let alike = |value| values.clone().filter(|other| *other == value).count();
        values.clone().map(alike).max().unwrap_or(0)
    }

    /// The seats at which the operation may have had an effect: all but those that it certainly never
    /// reached.
    pub(crate) fn reached(&self) -> u64 {
        let unsent =
            self.answers.iter().enumerate().filter(
                |(_, answer)| matches!(answer, Some(Vote::Failed(error)) if !error.was_sent()),
            );
        unsent.fold(u64::MAX, |reached, (seat, _)| reached & !bit(seat))
    }
}

/// True if `answer` is a grant that the node cannot have forgotten since.
pub(crate) fn is_current_grant(answer: Option<&Vote>, node: &dyn Node) -> bool {
    matches!(answer, Some(Vote::Granted { epoch, .. }) if *epoch == node.epoch())
}

/// The largest number of nodes that one holder may have by the votes. A holder without a name may be
/// any holder.
pub(crate) fn most_of_one_holder(votes: &[Option<Vote>]) -> usize {
    let holdings = votes.iter().flatten().filter_map(Vote::holding);
    let same = |holding: &Holding| {
        let same = holdings
            .clone()
            .filter(|other| other.may_be_the_same(holding));
        same.count()
    };
    holdings.clone().map(same).max().unwrap_or(0)
}
