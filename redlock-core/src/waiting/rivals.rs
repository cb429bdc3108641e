//! Rivals: the other processes that want a lock, ordered by when they were served.

use crate::model::token::OwnerId;
use crate::quorum::majority;

/// The largest number of rivals that a process remembers.
const MOST_RIVALS: usize = 8;
/// The number of times that a process lets a rival go first in vain. It then forgets the rival, which may be gone.
const PATIENCE: u8 = 4;

/// The other processes that were seen with the lock. The process that was served longest ago asks first.
#[derive(Clone, Debug, Default)]
pub(super) struct Rivals {
    /// The rivals, ordered by the time at which they were last served.
    order: Vec<OwnerId>,
    /// The number of rivals at the start of `order` that were served before this process.
    ahead: usize,
    /// The number of times that this process let the first rival go first since the rival was served.
    deferrals: u8,
}

impl Rivals {
    /// Records that a rival has the lock.
    pub(super) fn record_served(&mut self, rival: OwnerId) {
        let known = self.order.iter().position(|it| *it == rival);
        let is_full = self.order.len() == MOST_RIVALS;
        if let Some(place) = known.or(is_full.then_some(0)) {
            self.forget(place);
        }
        self.order.push(rival);
    }

    /// Records that this process has the lock.
    pub(super) fn record_own(&mut self) {
        self.ahead = self.order.len();
    }

    /// Returns the number of rivals that go first now that the lock is free.
    pub(super) fn defer(&mut self) -> usize {
        if self.ahead > 0 && self.deferrals == PATIENCE {
            self.forget(0);
        }
        self.deferrals += u8::from(self.ahead > 0);
        self.ahead
    }

    fn forget(&mut self, place: usize) {
        self.order.remove(place);
        self.ahead -= usize::from(place < self.ahead);
        if place == 0 {
            self.deferrals = 0;
        }
    }
}

/// Returns the owner that a majority of the seats names.
pub(super) fn majority_owner(
    seats: impl ExactSizeIterator<Item = Option<OwnerId>> + Clone,
) -> Option<OwnerId> {
    let needed = majority(seats.len());
    let named = seats.flatten();
    let votes = |owner| named.clone().filter(|it| *it == owner).count();
    named.clone().find(|owner| votes(*owner) >= needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rival(pid: usize) -> OwnerId {
        OwnerId::of(&format!("web-7/{pid}"))
    }

    /// Returns the rivals of a process served after rivals 1 and 2, and before 3.
    fn some() -> Rivals {
        let mut rivals = Rivals::default();
        rivals.record_served(rival(1));
        rivals.record_served(rival(2));
        rivals.record_own();
        rivals.record_served(rival(3));
        rivals
    }

    #[test]
    fn rivals_that_were_served_longer_ago_go_first() {
        let mut rivals = some();
        for (served, ahead) in [(3, 2), (2, 1), (2, 1), (1, 0), (3, 0)] {
            rivals.record_served(rival(served));
            assert_eq!(rivals.defer(), ahead, "{served}");
        }
        rivals.record_own();
        assert_eq!(rivals.defer(), 3);
    }

    #[test]
    fn a_process_that_was_never_served_goes_first() {
        let mut rivals = Rivals::default();
        rivals.record_served(rival(1));
        assert_eq!(rivals.defer(), 0);
    }

    #[test]
    fn a_rival_that_does_not_come_is_forgotten() {
        let mut rivals = some();
        for ahead in [[2; PATIENCE as usize], [1; PATIENCE as usize]].concat() {
            assert_eq!(rivals.defer(), ahead);
        }
        assert_eq!(rivals.defer(), 0);
        assert_eq!(rivals.order, [rival(3)]);
    }

    #[test]
    fn a_rival_too_many_replaces_the_one_served_first() {
        let mut rivals = some();
        (3..=MOST_RIVALS + 1).for_each(|pid| rivals.record_served(rival(pid)));
        assert_eq!(rivals.defer(), 1);
        assert_eq!(rivals.order.len(), MOST_RIVALS);
        assert_eq!(rivals.order[0], rival(2));
    }

    #[test]
    fn a_majority_of_all_seats_names_an_owner() {
        let seats = |pids: &[usize]| {
            let seats: Vec<_> = pids
                .iter()
                .map(|pid| (*pid > 0).then(|| rival(*pid)))
                .collect();
            majority_owner(seats.into_iter())
        };
        assert_eq!(seats(&[1, 2, 2]), Some(rival(2)));
        assert_eq!(seats(&[1, 2, 0]), None);
        assert_eq!(seats(&[2, 0, 0]), None);
    }
}
