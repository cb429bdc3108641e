//! Which nodes an extension may count.
//!
//! A node that says "still yours" proves that the lock was never anyone else's only where our key
//! has been on it all the time. A key that comes late does not: the node may have served another
//! holder in between, and a majority that includes it would hide that the lock was lost meanwhile.
//! So the nodes whose grants were known in time are *firm*, and another one becomes firm by a round
//! that began once its grant was known and that the firm ones won.

use std::sync::Arc;

use crate::quorum::majority;
use crate::round::{Round, seats_in};

/// The firm seats of a claim.
#[derive(Default)]
pub(crate) struct Possession {
    /// Not before the first extension: until then the acquisition knows.
    firm: Option<u64>,
    /// The last time that keys were put back, and where.
    restoration: Option<(Arc<Round>, u64)>,
}

/// Which seats count in one extension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Electorate {
    pub(crate) firm: u64,
    /// Those that become firm if the firm ones win.
    candidates: u64,
}

/// What an extension's votes come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// The lock has been ours all the time.
    Proved,
    /// So many firm nodes no longer hold our key that there can be no proof any more.
    Lost,
    /// Neither.
    Open,
}

impl Possession {
    /// Who counts in an extension that is about to begin.
    pub(crate) fn electorate(&mut self, acquisition: &Round) -> Electorate {
        let firm = *self
            .firm
            .get_or_insert_with(|| acquisition.granted_in_time());
        let mut granted = acquisition.granted_seats();
        if let Some((round, seats)) = &self.restoration {
            granted |= round.granted_seats() & seats;
            // A key that may still arrive there proves nothing.
            granted &= !(seats & !round.answered_seats());
        }
        Electorate {
            firm,
            candidates: granted & !firm,
        }
    }

    /// Takes note of an extension's votes: `granted` by nodes that may not have forgotten since,
    /// and `gone` where our key is not.
    pub(crate) fn judge(
        &mut self,
        electorate: Electorate,
        configured: usize,
        granted: u64,
        gone: u64,
    ) -> Finding {
        let firm = self.firm.get_or_insert(electorate.firm);
        *firm &= !gone;
        // Another extension may have found more of them gone meanwhile.
        let counts = electorate.firm & *firm;
        if seats_in(counts & granted) >= majority(configured) {
            *firm |= electorate.candidates & granted;
            Finding::Proved
        } else if seats_in(counts) < majority(configured) {
            Finding::Lost
        } else {
            Finding::Open
        }
    }

    /// Where the key may be put back, of the seats where it is `gone`: not while another `SET` may
    /// still be on its way there.
    pub(crate) fn restorable(&self, acquisition: &Round, gone: u64) -> u64 {
        let under_way = self
            .restoration
            .as_ref()
            .map_or(0, |(round, seats)| seats & !round.answered_seats());
        if under_way == 0 {
            gone & acquisition.answered_seats()
        } else {
            // One at a time.
            0
        }
    }

    pub(crate) fn restored(&mut self, round: Arc<Round>, seats: u64) {
        self.restoration = Some((round, seats));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Answer, NodeError, NodeErrorKind};
    use crate::round::Goal;

    fn round(granted: &[usize]) -> Arc<Round> {
        let round = Round::new(3, Goal::All);
        for seat in granted {
            round.vote(*seat, Answer::GRANTED);
        }
        round
    }

    #[test]
    fn a_grant_that_comes_late_counts_once_the_firm_ones_have_won_a_round_behind_it() {
        let acquisition = round(&[0, 1]);
        let mut possession = Possession::default();
        let first = possession.electorate(&acquisition);
        assert_eq!((first.firm, first.candidates), (0b011, 0));
        // The third grant comes after the first extension was sent.
        acquisition.vote(2, Answer::GRANTED);
        assert_eq!(
            possession.judge(first, 3, 0b101, 0),
            Finding::Open,
            "one firm node, and one that is not"
        );
        let second = possession.electorate(&acquisition);
        assert_eq!((second.firm, second.candidates), (0b011, 0b100));
        assert_eq!(possession.judge(second, 3, 0b111, 0), Finding::Proved);
        let third = possession.electorate(&acquisition);
        assert_eq!(possession.judge(third, 3, 0b110, 0), Finding::Proved);
    }

    #[test]
    fn a_firm_node_that_lost_the_key_is_firm_no_more() {
        let acquisition = round(&[0, 1]);
        let mut possession = Possession::default();
        let first = possession.electorate(&acquisition);
        acquisition.vote(2, Answer::GRANTED);
        assert_eq!(possession.judge(first, 3, 0b101, 0b010), Finding::Lost);
    }

    #[test]
    fn a_key_that_was_put_back_counts_once_that_is_known_and_proved() {
        let acquisition = round(&[0, 1, 2]);
        let mut possession = Possession::default();
        let first = possession.electorate(&acquisition);
        assert_eq!(possession.judge(first, 3, 0b110, 0b001), Finding::Proved);
        assert_eq!(possession.restorable(&acquisition, 0b001), 0b001);
        let putting_back = round(&[]);
        possession.restored(Arc::clone(&putting_back), 0b001);

        // Under way: neither counted nor sent again.
        let second = possession.electorate(&acquisition);
        assert_eq!((second.firm, second.candidates), (0b110, 0));
        assert_eq!(possession.restorable(&acquisition, 0b001), 0);
        assert_eq!(possession.judge(second, 3, 0b011, 0), Finding::Open);

        putting_back.vote(0, Answer::GRANTED);
        let third = possession.electorate(&acquisition);
        assert_eq!((third.firm, third.candidates), (0b110, 0b001));
        assert_eq!(possession.judge(third, 3, 0b111, 0), Finding::Proved);
        let fourth = possession.electorate(&acquisition);
        assert_eq!(possession.judge(fourth, 3, 0b011, 0), Finding::Proved);
    }

    #[test]
    fn an_extension_that_overlaps_a_restoration_does_not_count_what_that_put_there() {
        let acquisition = round(&[0, 1, 2]);
        let mut possession = Possession::default();
        let one = possession.electorate(&acquisition);
        let other = possession.electorate(&acquisition);
        assert_eq!(possession.judge(one, 3, 0b110, 0b001), Finding::Proved);
        possession.restored(round(&[0]), 0b001);
        // The other one's question reached the node behind the restoration.
        assert_eq!(possession.judge(other, 3, 0b011, 0), Finding::Open);
    }

    #[test]
    fn nothing_is_put_back_where_the_acquisition_may_still_arrive() {
        let acquisition = round(&[0, 1]);
        let possession = Possession::default();
        assert_eq!(possession.restorable(&acquisition, 0b100), 0);
        let error = NodeError::unsent(NodeErrorKind::NotConnected, "connection refused");
        acquisition.vote(2, Answer::Failed(error));
        assert_eq!(possession.restorable(&acquisition, 0b100), 0b100);
    }
}
