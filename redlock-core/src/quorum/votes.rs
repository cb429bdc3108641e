//! The votes of one round, packed: nearly every vote is a plain grant.

use std::sync::Arc;

use crate::model::permits::PermitSet;
use crate::node::{Answer, Holding, Node, PermitReport};

use super::Tally;
use super::round::{bit, seats_in};

/// The number of seats that have room for the epoch of their grant. Further seats keep the whole
/// answer.
pub(crate) const INLINE_EPOCHS: usize = 5;

/// The answers by seat. A lease keeps the answers of a round while it lives, so the usual answers take
/// no memory of their own.
#[derive(Default)]
pub(crate) struct Votes {
    pub(crate) configured: usize,
    /// The seats that granted: of permits, the same ones, which more seats granted than any others.
    pub(crate) granted: u64,
    /// The seats that granted other permits than those.
    pub(crate) strayed: u64,
    /// The seats whose grants were late.
    pub(crate) late: u64,
    /// The seats that answered that the key is held by another client.
    pub(crate) held: u64,
    /// The seats that answered that no key exists.
    pub(crate) absent: u64,
    /// The seats that did not serve the operation.
    pub(crate) failed: u64,
    /// The epochs of plain grants.
    pub(crate) epochs: [u32; INLINE_EPOCHS],
    /// Answers that are more than a bit and an epoch.
    details: Vec<(usize, Answer)>,
}

impl Votes {
    pub(crate) fn new(configured: usize) -> Self {
        Self {
            configured,
            ..Self::default()
        }
    }

    /// Records a vote. False if the seat has voted before.
    pub(crate) fn record(&mut self, seat: usize, answer: Answer, is_late: bool) -> bool {
        let said = bit(seat);
        if self.answered() & said != 0 {
            return false;
        }
        let seats = match &answer {
            // Which permits lead is found out once the answer is kept.
            Answer::Granted {
                permits: Some(_), ..
            } => &mut self.strayed,
            Answer::Granted { .. } => &mut self.granted,
            Answer::Held(_) => &mut self.held,
            Answer::Absent => &mut self.absent,
            Answer::Failed(_) => &mut self.failed,
        };
        *seats |= said;
        if is_late {
            self.late |= said;
        }
        match (answer, self.epochs.get_mut(seat)) {
            (Answer::Absent, _) => {}
            (
                Answer::Granted {
                    counter: None,
                    epoch,
                    permits: None,
                },
                Some(room),
            ) => *room = epoch,
            (answer, _) => self.details.push((seat, answer)),
        }
        if self.strayed & said != 0 {
            self.count_permits(seat);
        }
        true
    }

    /// The seat has granted permits. Those seats count as granting that granted the same ones, if they are
    /// more than any others.
    fn count_permits(&mut self, seat: usize) {
        let Some(taken) = self.taken_at(seat) else {
            return;
        };
        let seats = self.details.iter().map(|(seat, _)| *seat);
        let alike = seats.filter(|seat| self.taken_at(*seat) == Some(taken));
        let alike = alike.fold(0, |seats, seat| seats | bit(seat));
        if seats_in(alike) > seats_in(self.granted) {
            self.strayed = (self.strayed | self.granted) & !alike;
            self.granted = alike;
        }
    }

    /// The permits that a seat granted.
    fn taken_at(&self, seat: usize) -> Option<PermitSet> {
        match self.details(seat) {
            Some(Answer::Granted {
                permits: Some(report),
                ..
            }) => Some(report.taken),
            _ => None,
        }
    }

    /// The permits of the seats that count as granting, and what all seats say of permits.
    pub(crate) fn permits_and_reports(&self) -> (Option<PermitSet>, Vec<Arc<PermitReport>>) {
        (self.permits(), self.permit_reports())
    }

    /// The permits of the seats that count as granting.
    fn permits(&self) -> Option<PermitSet> {
        let mut seats = self.details.iter().map(|(seat, _)| *seat);
        let granted = seats.find(|seat| self.granted & bit(*seat) != 0)?;
        self.taken_at(granted)
    }

    /// What the seats say of the permits of the resource.
    fn permit_reports(&self) -> Vec<Arc<PermitReport>> {
        let reports = self.details.iter().filter_map(|(_, answer)| match answer {
            Answer::Granted { permits, .. } => permits.clone(),
            Answer::Held(holding) => holding.permits.clone(),
            _ => None,
        });
        reports.collect()
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
            configured: self.configured,
            granted: seats_in(self.granted),
            held: seats_in(self.held | self.strayed),
            absent: seats_in(self.absent),
            failed: seats_in(self.failed),
        }
    }

    fn details(&self, seat: usize) -> Option<&Answer> {
        let found = self.details.iter().find(|(of, _)| *of == seat);
        found.map(|(_, answer)| answer)
    }

    /// The answers, by seat. A seat that granted other permits than those that lead counts as held.
    pub(crate) fn answers(&self) -> Vec<Option<Answer>> {
        let answer = |seat| {
            if let Some(Answer::Granted { permits, .. }) = self.details(seat)
                && self.strayed & bit(seat) != 0
            {
                let permits = permits.clone();
                Some(Answer::Held(Holding {
                    permits,
                    ..Holding::default()
                }))
            } else if let Some(answer) = self.details(seat) {
                Some(answer.clone())
            } else if self.granted & bit(seat) != 0 {
                let epoch = self.epochs.get(seat).copied().unwrap_or_default();
                Some(Answer::Granted {
                    counter: None,
                    epoch,
                    permits: None,
                })
            } else {
                (self.absent & bit(seat) != 0).then_some(Answer::Absent)
            }
        };
        (0..self.configured).map(answer).collect()
    }

    /// The seats of `nodes` that granted and cannot have forgotten it since.
    pub(crate) fn vouching(&self, nodes: &[Arc<dyn Node>]) -> u64 {
        let is_current = |seat: usize, node: &dyn Node| {
            self.granted & bit(seat) != 0
                && match self.details(seat) {
                    Some(answer) => is_current_grant(Some(answer), node),
                    None => self.epochs.get(seat) == Some(&node.epoch()),
                }
        };
        let seats = nodes.iter().enumerate();
        seats
            .filter(|(seat, node)| is_current(*seat, &***node))
            .fold(0, |seats, (seat, _)| seats | bit(seat))
    }

    /// The largest number of seats at which the keys hold one value. Keys without a value are no lock, and
    /// count as one value.
    pub(crate) fn held_alike(&self) -> usize {
        let values = self.details.iter().filter_map(|(_, answer)| match answer {
            Answer::Held(holding) => Some(&holding.value),
            _ => None,
        });
        let alike = |value| values.clone().filter(|other| *other == value).count();
        values.clone().map(alike).max().unwrap_or(0)
    }

    /// The seats at which the operation may have had an effect: all but those that it certainly never
    /// reached.
    pub(crate) fn reached(&self) -> u64 {
        let unsent = self
            .details
            .iter()
            .filter(|(_, answer)| matches!(answer, Answer::Failed(error) if !error.was_sent()));
        unsent.fold(u64::MAX, |reached, (seat, _)| reached & !bit(*seat))
    }
}

/// True if `answer` is a grant that the node cannot have forgotten since.
pub(crate) fn is_current_grant(answer: Option<&Answer>, node: &dyn Node) -> bool {
    matches!(answer, Some(Answer::Granted { epoch, .. }) if *epoch == node.epoch())
}
