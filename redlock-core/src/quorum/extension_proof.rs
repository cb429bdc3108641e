//! Which nodes an extension may count.
//!
//! A node that says "still yours" proves that the lock was never anyone else's only where our key
//! has been on it all the time. A key that comes late does not: the node may have served another
//! holder in between, and a majority that includes it would hide that the lock was lost meanwhile.
//! So those nodes are *firm* whose grants were known when the lease was made, whenever they came; or
//! soon after, while the first keys cannot have expired. Another one becomes firm by a round that
//! began once its grant was known and that the firm ones won. ARCHITECTURE.md says why.

use std::sync::Arc;

use super::majority;
use super::round::{Round, Seats, seats_in};

/// The firm seats of a claim, beyond those that its acquisition says are.
#[derive(Default)]
pub(crate) struct Possession {
    /// Those that became firm by a round.
    promoted: u64,
    /// Those where the key was found gone, or put back, and that did not become firm since.
    gone: u64,
    /// The last time that keys were put back, and where.
    restoration: Option<(Arc<Round>, u64)>,
    /// The extension that was judged last, and the one before it: a node that is always slower
    /// than the majority is heard when the next one is.
    last: Option<Judged>,
    before: Option<Before>,
}

/// The extension before the last one: where it found the key gone.
enum Before {
    /// Its stragglers are still being counted.
    Open(Arc<Round>),
    Complete {
        absent: u64,
    },
}

impl Before {
    /// What is to be remembered of a round that is the last one no more.
    fn of(round: Arc<Round>) -> Self {
        if round.is_complete() {
            let (absent, _) = round.gone_seats();
            Self::Complete { absent }
        } else {
            Self::Open(round)
        }
    }

    fn absent(&self) -> u64 {
        match self {
            Self::Open(round) => round.gone_seats().0,
            Self::Complete { absent } => *absent,
        }
    }
}

/// An extension that was judged. Its stragglers are still being counted in the round.
struct Judged {
    round: Arc<Round>,
    /// Those that become firm by granting it, however late: none where it proved nothing.
    promoted: u64,
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
    pub(crate) fn electorate(&mut self, acquisition: Seats) -> Electorate {
        if let Some(last) = &self.last {
            let (absent, held) = last.round.gone_seats();
            let promoted = last.promoted & last.round.granted_seats();
            self.promoted |= promoted;
            self.gone = self.gone & !promoted | absent | held;
        }
        let firm = (acquisition.in_time | self.promoted) & !self.gone;
        let mut granted = acquisition.granted;
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

    /// Takes note of an extension's votes: `granted` by nodes that may not have forgotten since. Also
    /// says whose votes count.
    pub(crate) fn judge(
        &mut self,
        acquisition: Seats,
        electorate: Electorate,
        configured: usize,
        round: &Arc<Round>,
        granted: u64,
    ) -> (Finding, u64) {
        let (absent, held) = round.gone_seats();
        self.gone |= absent | held;
        // Another extension may have found more of them gone meanwhile, and the acquisition may have
        // been granted in time by more.
        let counts = (electorate.firm | acquisition.in_time) & !self.gone;
        let finding = if seats_in(counts & granted) >= majority(configured) {
            Finding::Proved
        } else if seats_in(counts) < majority(configured) {
            Finding::Lost
        } else {
            Finding::Open
        };
        let is_proved = finding == Finding::Proved;
        let judged = Judged {
            round: Arc::clone(round),
            promoted: if is_proved { electorate.candidates } else { 0 },
        };
        let last = self.last.replace(judged);
        self.before = last.map(|last| Before::of(last.round));
        (finding, counts)
    }

    /// Where the key may be put back, now that `round` is a proof: where it is gone, as that round
    /// or the one before it says, and no other `SET` of ours may still be on its way.
    pub(crate) fn restorable(&self, acquisition: Seats, round: &Round) -> u64 {
        let (mut gone, _) = round.gone_seats();
        if let Some(before) = &self.before {
            gone |= before.absent() & !round.answered_seats();
        }
        let under_way = self
            .restoration
            .as_ref()
            .map_or(0, |(round, seats)| seats & !round.answered_seats());
        if under_way == 0 {
            gone & acquisition.answered
        } else {
            // One at a time.
            0
        }
    }

    pub(crate) fn restored(&mut self, round: Arc<Round>, seats: u64) {
        // Gone there once, whichever round said so, and however late.
        self.gone |= seats;
        self.restoration = Some((round, seats));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::env::Moment;
    use crate::env::still_clock::still_clock;
    use crate::node::{Answer, NodeError, NodeErrorKind};
    use crate::quorum::round::Goal;

    fn round(granted: &[usize]) -> Arc<Round> {
        let round = Round::new(3, Goal::All);
        for seat in granted {
            round.vote(*seat, Answer::GRANTED);
        }
        round
    }

    /// An acquisition, made a lease by these grants. What comes later comes too late.
    fn lease(granted: &[usize]) -> Arc<Round> {
        let (clock, of_code) = still_clock();
        clock.advance(Duration::from_secs(1));
        let long_ago = Moment::from_origin(Duration::ZERO);
        let round = Round::with_time(3, Goal::All, Some((of_code, long_ago)));
        for seat in granted {
            round.vote(*seat, Answer::GRANTED);
        }
        round.admit_late();
        round
    }

    /// An extension on three nodes: who granted, and where the key was gone.
    fn extend(
        possession: &mut Possession,
        acquisition: &Round,
        electorate: Electorate,
        granted: &[usize],
        gone: &[usize],
    ) -> (Finding, Arc<Round>) {
        let round = round(granted);
        for seat in gone {
            round.vote(*seat, Answer::Absent);
        }
        let (finding, _) = possession.judge(
            acquisition.seats(),
            electorate,
            3,
            &round,
            round.granted_seats(),
        );
        (finding, round)
    }

    #[test]
    fn a_grant_that_comes_late_counts_once_the_firm_ones_have_won_a_round_behind_it() {
        let acquisition = lease(&[0, 1]);
        let mut possession = Possession::default();
        let first = possession.electorate(acquisition.seats());
        assert_eq!((first.firm, first.candidates), (0b011, 0));
        // The third grant comes after the first extension was sent.
        acquisition.vote(2, Answer::GRANTED);
        let (finding, _) = extend(&mut possession, &acquisition, first, &[0, 2], &[]);
        assert_eq!(finding, Finding::Open, "one firm node, and one that is not");
        let second = possession.electorate(acquisition.seats());
        assert_eq!((second.firm, second.candidates), (0b011, 0b100));
        let (finding, _) = extend(&mut possession, &acquisition, second, &[0, 1, 2], &[]);
        assert_eq!(finding, Finding::Proved);
        let third = possession.electorate(acquisition.seats());
        let (finding, _) = extend(&mut possession, &acquisition, third, &[1, 2], &[]);
        assert_eq!(finding, Finding::Proved);
    }

    #[test]
    fn a_grant_that_comes_in_time_counts_whatever_extension_is_under_way() {
        // All of its grants are in time.
        let acquisition = round(&[0, 1]);
        let mut possession = Possession::default();
        let first = possession.electorate(acquisition.seats());
        assert_eq!(first.firm, 0b011);
        acquisition.vote(2, Answer::GRANTED);
        let (finding, _) = extend(&mut possession, &acquisition, first, &[0], &[1]);
        assert_eq!(finding, Finding::Open, "its answer is still out");
        let second = possession.electorate(acquisition.seats());
        assert_eq!(second.firm, 0b101);
        let (finding, _) = extend(&mut possession, &acquisition, second, &[0, 2], &[1]);
        assert_eq!(finding, Finding::Proved);
    }

    #[test]
    fn a_firm_node_that_lost_the_key_is_firm_no_more() {
        let acquisition = lease(&[0, 1]);
        let mut possession = Possession::default();
        let first = possession.electorate(acquisition.seats());
        acquisition.vote(2, Answer::GRANTED);
        let (finding, _) = extend(&mut possession, &acquisition, first, &[0, 2], &[1]);
        assert_eq!(finding, Finding::Lost);
    }

    #[test]
    fn a_key_that_was_put_back_counts_once_that_is_known_and_proved() {
        let acquisition = lease(&[0, 1, 2]);
        let mut possession = Possession::default();
        let first = possession.electorate(acquisition.seats());
        let (finding, proof) = extend(&mut possession, &acquisition, first, &[1, 2], &[0]);
        assert_eq!(finding, Finding::Proved);
        assert_eq!(possession.restorable(acquisition.seats(), &proof), 0b001);
        let putting_back = round(&[]);
        possession.restored(Arc::clone(&putting_back), 0b001);

        // Under way: neither counted nor sent again.
        let second = possession.electorate(acquisition.seats());
        assert_eq!((second.firm, second.candidates), (0b110, 0));
        let (finding, unproved) = extend(&mut possession, &acquisition, second, &[0, 1], &[]);
        assert_eq!(finding, Finding::Open);
        assert_eq!(possession.restorable(acquisition.seats(), &unproved), 0);

        putting_back.vote(0, Answer::GRANTED);
        let third = possession.electorate(acquisition.seats());
        assert_eq!((third.firm, third.candidates), (0b110, 0b001));
        let (finding, _) = extend(&mut possession, &acquisition, third, &[0, 1, 2], &[]);
        assert_eq!(finding, Finding::Proved);
        let fourth = possession.electorate(acquisition.seats());
        let (finding, _) = extend(&mut possession, &acquisition, fourth, &[0, 1], &[]);
        assert_eq!(finding, Finding::Proved);
    }

    #[test]
    fn an_extension_that_overlaps_a_restoration_does_not_count_what_that_put_there() {
        let acquisition = lease(&[0, 1, 2]);
        let mut possession = Possession::default();
        let one = possession.electorate(acquisition.seats());
        let other = possession.electorate(acquisition.seats());
        let (finding, _) = extend(&mut possession, &acquisition, one, &[1, 2], &[0]);
        assert_eq!(finding, Finding::Proved);
        possession.restored(round(&[0]), 0b001);
        // The other one's question reached the node behind the restoration.
        let (finding, _) = extend(&mut possession, &acquisition, other, &[0, 1], &[]);
        assert_eq!(finding, Finding::Open);
    }

    #[test]
    fn a_node_that_is_always_slower_than_the_majority_is_heard_a_round_later() {
        let acquisition = lease(&[0, 1, 2]);
        let mut possession = Possession::default();
        let first = possession.electorate(acquisition.seats());
        let (_, proof) = extend(&mut possession, &acquisition, first, &[1, 2], &[]);
        assert_eq!(possession.restorable(acquisition.seats(), &proof), 0);
        proof.vote(0, Answer::Absent);
        let second = possession.electorate(acquisition.seats());
        assert_eq!(second.firm, 0b110, "firm no more");
        let (finding, proof) = extend(&mut possession, &acquisition, second, &[1, 2], &[]);
        assert_eq!(finding, Finding::Proved);
        assert_eq!(possession.restorable(acquisition.seats(), &proof), 0b001);
    }

    #[test]
    fn a_node_that_was_given_its_key_again_is_firm_no_more_whichever_answer_gets_lost() {
        let acquisition = lease(&[0, 1, 2]);
        let mut possession = Possession::default();
        let first = possession.electorate(acquisition.seats());
        let (_, slow) = extend(&mut possession, &acquisition, first, &[1, 2], &[]);
        let second = possession.electorate(acquisition.seats());
        // The answer to the first comes while the second is out.
        slow.vote(0, Answer::Absent);
        let (_, proof) = extend(&mut possession, &acquisition, second, &[1, 2], &[]);
        assert_eq!(possession.restorable(acquisition.seats(), &proof), 0b001);
        possession.restored(round(&[]), 0b001);
        // The answer to the second gets lost with the connection.
        let error = NodeError::sent(NodeErrorKind::Disconnected, "connection reset");
        proof.vote(0, Answer::Failed(error));
        assert_eq!(possession.electorate(acquisition.seats()).firm, 0b110);
    }

    #[test]
    fn a_node_becomes_firm_by_a_late_answer_too_but_not_to_a_round_that_proved_nothing() {
        let acquisition = lease(&[0, 1]);
        let mut possession = Possession::default();
        possession.electorate(acquisition.seats());
        acquisition.vote(2, Answer::GRANTED);
        for (granted, finding, firm) in [
            (&[0][..], Finding::Open, 0b011),
            (&[0, 1], Finding::Proved, 0b111),
        ] {
            let electorate = possession.electorate(acquisition.seats());
            let (found, extension) =
                extend(&mut possession, &acquisition, electorate, granted, &[]);
            assert_eq!(found, finding);
            extension.vote(2, Answer::GRANTED);
            assert_eq!(possession.electorate(acquisition.seats()).firm, firm);
        }
    }

    #[test]
    fn nothing_is_put_back_where_the_acquisition_may_still_arrive() {
        let acquisition = lease(&[0, 1]);
        let mut possession = Possession::default();
        let electorate = possession.electorate(acquisition.seats());
        let (_, proof) = extend(&mut possession, &acquisition, electorate, &[0, 1], &[2]);
        assert_eq!(possession.restorable(acquisition.seats(), &proof), 0);
        let error = NodeError::unsent(NodeErrorKind::NotConnected, "connection refused");
        acquisition.vote(2, Answer::Failed(error));
        assert_eq!(possession.restorable(acquisition.seats(), &proof), 0b100);
    }
}
