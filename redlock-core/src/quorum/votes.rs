//! The votes of one round, and sets of seats as the bits of an integer.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::node::{Holding, Node, Vote, bit};

use super::Tally;

/// The largest number of nodes of a lock, because each seat is a bit of a `u64`.
pub(crate) const MOST_NODES: usize = 64;

/// Returns the number of seats in a set.
pub(crate) const fn seats_in(seats: u64) -> usize {
    seats.count_ones() as usize
}

/// The seats of a round, grouped by their answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seats {
    /// The seats that granted. For permits, only the seats that granted the permit that most seats granted.
    pub(crate) granted: u64,
    /// The seats that granted in time, or before the lease was made.
    pub(crate) in_time: u64,
    /// The seats that answered that another client holds the key.
    pub(crate) held: u64,
    /// The seats with the vote `Absent`: a key is missing, and no other holder has one.
    pub(crate) absent: u64,
    /// The seats that answered and did not fail.
    pub(crate) voted: u64,
    /// The seats that failed to serve the call.
    pub(crate) failed: u64,
    /// The seats that the call may have reached. A release has to undo the call there.
    pub(crate) reached: u64,
}

impl Seats {
    pub(crate) fn answered(&self) -> u64 {
        self.voted | self.failed
    }
}

/// The votes of one round, by seat.
pub(crate) struct RoundVotes {
    answers: SmallVec<[Option<Vote>; 5]>,
    counted: Tally,
    /// True if a seat granted one of several permits.
    has_choices: bool,
    /// The seats whose grants were late.
    pub(crate) late: u64,
}

impl RoundVotes {
    pub(crate) fn new(configured: usize) -> Self {
        Self {
            answers: smallvec![None; configured],
            counted: Tally {
                configured,
                ..Tally::default()
            },
            has_choices: false,
            late: 0,
        }
    }

    /// Records a vote. Returns false if the seat has voted before.
    pub(crate) fn record(&mut self, seat: usize, answer: Vote, is_late: bool) -> bool {
        let Some(place @ None) = self.answers.get_mut(seat) else {
            return false;
        };
        self.counted.count(&answer);
        self.has_choices |= granted_permit(&answer).is_some();
        *place = Some(answer);
        if is_late {
            self.late |= bit(seat);
        }
        true
    }

    /// Returns the seats whose answers satisfy `is_it`.
    fn seats_with(&self, is_it: impl Fn(&Vote) -> bool) -> u64 {
        let answers = self.answers.iter().enumerate();
        let seats = answers.filter(|(_, answer)| answer.as_ref().is_some_and(&is_it));
        seats.fold(0, |seats, (seat, _)| seats | bit(seat))
    }

    pub(crate) fn granted(&self) -> u64 {
        let chosen = self.choice();
        self.seats_with(|vote| is_grant(vote) && granted_permit(vote) == chosen)
    }

    /// Returns the seats that granted another permit than most seats did.
    fn strayed(&self) -> u64 {
        match self.choice() {
            None => 0,
            Some(_) => self.seats_with(is_grant) & !self.granted(),
        }
    }

    /// Returns the seats whose answers are votes, and not failures.
    pub(crate) fn voted(&self) -> u64 {
        self.seats_with(|vote| !matches!(vote, Vote::Failed(_)))
    }

    pub(crate) fn seats(&self) -> Seats {
        let (granted, mut seats) = (self.granted(), Seats::default());
        let mut unsent = 0;
        for (seat, vote) in self.answers.iter().enumerate() {
            let Some(vote) = vote else { continue };
            let seat = bit(seat);
            match vote {
                Vote::Granted { .. } => {}
                Vote::Held(_) => seats.held |= seat,
                Vote::Absent => seats.absent |= seat,
                Vote::Failed(error) => {
                    seats.failed |= seat;
                    unsent |= if error.was_sent() { 0 } else { seat };
                    continue;
                }
            }
            seats.voted |= seat;
        }
        Seats {
            granted,
            in_time: granted & !self.late,
            reached: !unsent,
            ..seats
        }
    }

    /// Returns the place of the permit that the most seats granted.
    pub(crate) fn choice(&self) -> Option<u16> {
        if !self.has_choices {
            return None;
        }
        let all = || self.answers.iter().flatten().filter_map(granted_permit);
        all().max_by_key(|one| all().filter(|other| other == one).count())
    }

    pub(crate) fn tally(&self) -> Tally {
        let (strayed, tally) = (seats_in(self.strayed()), self.counted);
        Tally {
            granted: tally.granted - strayed,
            held: tally.held + strayed,
            ..tally
        }
    }

    /// Returns the answers, by seat. A seat that granted another permit than most seats did counts as "held".
    pub(crate) fn answers(&self) -> Vec<Option<Vote>> {
        let (mut answers, strayed) = (self.answers.to_vec(), self.strayed());
        for (seat, answer) in answers.iter_mut().enumerate() {
            if strayed & bit(seat) != 0 {
                *answer = Some(Vote::Held(Holding {
                    has_strayed: true,
                    ..Holding::default()
                }));
            }
        }
        answers
    }

    /// Returns the seats of `nodes` that granted the call and cannot have forgotten it since.
    pub(crate) fn vouching(&self, nodes: &[Arc<dyn Node>]) -> u64 {
        let answers = self.answers.iter().zip(nodes).enumerate();
        let current =
            answers.filter(|(_, (answer, node))| is_current_grant(answer.as_ref(), &***node));
        current.fold(0, |seats, (seat, _)| seats | bit(seat)) & self.granted()
    }

    /// Returns the largest number of seats whose keys hold the same value. Keys without a value belong to no lock, and
    /// count as one value.
    pub(crate) fn held_alike(&self) -> usize {
        let holdings = self.answers.iter().flatten().filter_map(Vote::holding);
        let values = holdings.map(|holding| &holding.value);
        let alike = |value| values.clone().filter(|other| *other == value).count();
        values.clone().map(alike).max().unwrap_or(0)
    }
}

fn is_grant(vote: &Vote) -> bool {
    matches!(vote, Vote::Granted { .. })
}

/// Returns the place of the permit that a vote grants.
fn granted_permit(vote: &Vote) -> Option<u16> {
    match vote {
        Vote::Granted { choice, .. } => *choice,
        _ => None,
    }
}

/// True if `answer` is a grant that the node cannot have forgotten since.
pub(crate) fn is_current_grant(answer: Option<&Vote>, node: &dyn Node) -> bool {
    matches!(answer, Some(Vote::Granted { epoch, .. }) if *epoch == node.epoch())
}

/// Returns the most nodes that a single holder may have, by the votes. A nameless holder may be any holder.
pub(crate) fn most_of_one_holder(votes: &[Option<Vote>]) -> usize {
    let holdings = votes.iter().flatten().filter_map(Vote::holding);
    let same = |holding: &Holding| {
        let same = holdings.clone().filter(|it| it.may_be_the_same(holding));
        same.count()
    };
    holdings.clone().map(same).max().unwrap_or(0)
}
