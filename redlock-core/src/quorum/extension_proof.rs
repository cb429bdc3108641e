//! Decides which nodes an extension may count, and what their answers prove.
#![doc = include_str!("extension_proof.md")]

use std::sync::Arc;

use super::majority;
use super::round::{Round, Seats, seats_in};

/// The continuous and the interrupted seats of one claim, after the extensions so far.
#[derive(Default)]
pub(crate) struct ExtensionProof {
    /// Seats that two extensions made continuous. They are the third case of the page.
    made_continuous: u64,
    /// Seats where our key was missing or restored, until an extension makes them continuous.
    interrupted: u64,
    /// Seats where our key was missing at the last extension. If a seat has not answered it yet, the seat's previous
    /// answer counts.
    without_key: u64,
    restorations: Restorations,
    /// The extension that was judged last. The next one reads its late answers when it begins, so that a node that is
    /// always slower than the majority is counted too.
    last_extension: Option<Arc<Round>>,
    /// The last extension that proved by a majority that the lock is ours.
    pub(crate) last_proof: Option<LastProof>,
}

/// An extension that a majority granted.
pub(crate) struct LastProof {
    pub(crate) round: Arc<Round>,
    /// The seats whose grants count.
    pub(crate) counted: u64,
}

/// The rounds that restore keys.
#[derive(Default)]
struct Restorations {
    last_round: Option<Arc<Round>>,
    last_seats: u64,
    all_seats: u64,
    count: u32,
}

impl Restorations {
    /// Returns the seats where a restored key may still arrive.
    fn arriving(&self) -> u64 {
        let last = self.last_round.as_ref();
        last.map_or(0, |last| self.last_seats & !last.seats().answered())
    }
}

/// The seats that one extension may count, fixed when it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Voters {
    pub(crate) continuous: u64,
    /// Seats that this extension makes continuous if it is a proof. The previous extension found our key at these
    /// seats.
    candidates: u64,
    /// The number of restorations when the extension began.
    restorations: u32,
}

/// The result of an extension's votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProofState {
    /// The lock has been ours all the time.
    Proved,
    /// A proof is impossible, because too many continuous nodes have lost our key.
    Lost,
    /// The votes so far leave the question open.
    Open,
}

impl ExtensionProof {
    /// Returns the seats that count in an extension that is about to begin.
    pub(crate) fn voters(&mut self, acquisition: Seats) -> Voters {
        let mut found = 0;
        if let Some(last) = &self.last_extension {
            let last = last.seats();
            self.interrupted |= last.absent | last.held;
            found = last.granted;
        }
        let continuous = (acquisition.in_time | self.made_continuous) & !self.interrupted;
        Voters {
            continuous,
            // Leave out keys that may still arrive: they prove nothing.
            candidates: found & !continuous & !self.restorations.arriving(),
            restorations: self.restorations.count,
        }
    }

    /// Returns the seats whose grants count now, for an extension with these `voters`.
    pub(crate) fn counted_seats(&self, acquisition: Seats, voters: Voters) -> u64 {
        // Another extension may have found keys missing since `voters` was taken. More nodes may have granted the
        // acquisition in time.
        (voters.continuous | acquisition.in_time) & !self.interrupted
    }

    /// Judges the votes of the extension `round`. `granted` are the seats that granted it and cannot have forgotten it
    /// since.
    pub(crate) fn judge(
        &mut self,
        acquisition: Seats,
        voters: Voters,
        round: &Arc<Round>,
        granted: u64,
    ) -> ProofState {
        let (answers, needed) = (round.seats(), majority(round.tally().configured));
        let missing = answers.absent | answers.held;
        self.interrupted |= missing;
        let counted = self.counted_seats(acquisition, voters);
        let state = if seats_in(counted & granted) >= needed {
            ProofState::Proved
        } else if seats_in(counted) < needed {
            ProofState::Lost
        } else {
            ProofState::Open
        };
        let before = self.last_extension.replace(Arc::clone(round));
        let absent_before = before.map_or(0, |before| before.seats().absent);
        self.without_key = answers.absent | absent_before & !answers.answered();
        // A key that another extension restored may have arrived after this extension began.
        let is_undisturbed = voters.restorations == self.restorations.count;
        let promoted = if is_undisturbed && state == ProofState::Proved {
            voters.candidates & !missing
        } else {
            0
        };
        self.made_continuous |= promoted;
        self.interrupted &= !promoted;
        if state == ProofState::Proved {
            self.last_proof = Some(LastProof {
                round: Arc::clone(round),
                counted: counted | promoted,
            });
        }
        state
    }

    /// Returns the seats that need the key again, after an extension that is a proof. The key is missing there, and no
    /// `SET` of ours is still on its way.
    pub(crate) fn restorable_seats(&self, acquisition: Seats) -> u64 {
        if self.restorations.arriving() != 0 {
            // Only one `SET` of ours may be under way at a time.
            return 0;
        }
        self.without_key & acquisition.answered()
    }

    /// Records that `round` restores the keys at `seats`.
    pub(crate) fn add_restoration(&mut self, round: Arc<Round>, seats: u64) {
        // The key was missing at these seats: they are interrupted, even if that answer came late.
        self.interrupted |= seats;
        let restorations = &mut self.restorations;
        restorations.last_round = Some(round);
        restorations.last_seats = seats;
        restorations.all_seats |= seats;
        restorations.count = restorations.count.wrapping_add(1);
    }

    /// Returns the seats where keys were restored.
    pub(crate) fn restored_seats(&self) -> u64 {
        self.restorations.all_seats
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ProofState::{Lost, Open, Proved};
    use super::*;
    use crate::env::Moment;
    use crate::env::tests::still_clock;
    use crate::kinds::any_kind::peek;
    use crate::model::resource::Resource;
    use crate::node::{NodeError, NodeErrorKind, Vote, VoteSink as _};
    use crate::quorum::round::Goal;

    fn round(granted: &[usize]) -> Arc<Round> {
        let question = peek(&Resource::from("r"));
        let round = Round::new(3, question, Goal::All);
        for seat in granted {
            round.vote(*seat, Vote::GRANTED);
        }
        round
    }

    /// A lease on three nodes.
    struct Lease {
        acquisition: Arc<Round>,
        proof: ExtensionProof,
        /// The last extension.
        extension: Arc<Round>,
    }

    impl Lease {
        /// Makes a lease of these grants. Later grants may still be in time.
        fn under_way(granted: &[usize]) -> Self {
            Self {
                acquisition: round(granted),
                proof: ExtensionProof::default(),
                extension: round(&[]),
            }
        }

        /// Makes a lease of these grants. Later grants are too late.
        fn of(granted: &[usize]) -> Self {
            let lease = Self::under_way(granted);
            let (clock, of_code) = still_clock();
            clock.advance(Duration::from_secs(1));
            let long_ago = Moment::from_origin(Duration::ZERO);
            lease.acquisition.set_straggler_deadline(of_code, long_ago);
            lease
        }

        /// Begins an extension.
        fn voters(&mut self) -> Voters {
            self.proof.voters(self.acquisition.seats())
        }

        fn restorable(&mut self) -> u64 {
            self.proof.restorable_seats(self.acquisition.seats())
        }

        /// Judges an extension by its grants and the missing keys.
        fn judge(&mut self, voters: Voters, granted: &[usize], gone: &[usize]) -> ProofState {
            let round = round(granted);
            for seat in gone {
                round.vote(*seat, Vote::Absent);
            }
            let (acquisition, granted) = (self.acquisition.seats(), round.seats().granted);
            let judged = self.proof.judge(acquisition, voters, &round, granted);
            self.extension = round;
            judged
        }
    }

    #[test]
    fn a_late_grant_counts_once_found_by_an_extension_and_proved() {
        let mut lease = Lease::of(&[0, 1]);
        let first = lease.voters();
        assert_eq!((first.continuous, first.candidates), (0b011, 0));
        // The third grant arrives after the first extension was sent.
        lease.acquisition.vote(2, Vote::GRANTED);
        assert_eq!(lease.judge(first, &[0, 2], &[]), Open);
        let second = lease.voters();
        assert_eq!((second.continuous, second.candidates), (0b011, 0b100));
        assert_eq!(lease.judge(second, &[0, 1, 2], &[]), Proved);
        let third = lease.voters();
        assert_eq!(lease.judge(third, &[1, 2], &[]), Proved);
    }

    #[test]
    fn a_grant_in_time_counts_whatever_extension_is_under_way() {
        let mut lease = Lease::under_way(&[0, 1]);
        let first = lease.voters();
        assert_eq!(first.continuous, 0b011);
        lease.acquisition.vote(2, Vote::GRANTED);
        let outcome = lease.judge(first, &[0], &[1]);
        assert_eq!(outcome, Open, "its answer is still out");
        let second = lease.voters();
        assert_eq!(second.continuous, 0b101);
        assert_eq!(lease.judge(second, &[0, 2], &[1]), Proved);
    }

    #[test]
    fn a_continuous_node_that_lost_the_key_is_continuous_no_more() {
        let mut lease = Lease::of(&[0, 1]);
        let first = lease.voters();
        lease.acquisition.vote(2, Vote::GRANTED);
        assert_eq!(lease.judge(first, &[0, 2], &[1]), Lost);
    }

    #[test]
    fn a_key_that_was_put_back_counts_once_that_is_known_and_proved() {
        let mut lease = Lease::of(&[0, 1, 2]);
        let first = lease.voters();
        assert_eq!(lease.judge(first, &[1, 2], &[0]), Proved);
        assert_eq!(lease.restorable(), 0b001);
        let putting_back = round(&[]);
        lease
            .proof
            .add_restoration(Arc::clone(&putting_back), 0b001);

        // During the restoration, its key is neither counted nor sent again.
        let second = lease.voters();
        assert_eq!((second.continuous, second.candidates), (0b110, 0));
        assert_eq!(lease.judge(second, &[0, 1], &[]), Open);
        assert_eq!(lease.restorable(), 0);
        assert_eq!(lease.voters().candidates, 0);

        putting_back.vote(0, Vote::GRANTED);
        let third = lease.voters();
        assert_eq!((third.continuous, third.candidates), (0b110, 0b001));
        assert_eq!(lease.judge(third, &[0, 1, 2], &[]), Proved);
        let fourth = lease.voters();
        assert_eq!(lease.judge(fourth, &[0, 1], &[]), Proved);
    }

    #[test]
    fn an_extension_during_a_restoration_does_not_count_its_keys() {
        let mut lease = Lease::of(&[0, 1, 2]);
        let (one, other) = (lease.voters(), lease.voters());
        assert_eq!(lease.judge(one, &[1, 2], &[0]), Proved);
        lease.proof.add_restoration(round(&[0]), 0b001);
        // The other extension reached the node after the restoration.
        assert_eq!(lease.judge(other, &[0, 1], &[]), Open);
    }

    #[test]
    fn a_node_slower_than_the_majority_is_heard_a_round_later() {
        let mut lease = Lease::of(&[0, 1, 2]);
        let first = lease.voters();
        lease.judge(first, &[1, 2], &[]);
        assert_eq!(lease.restorable(), 0);
        lease.extension.vote(0, Vote::Absent);
        let second = lease.voters();
        assert_eq!(second.continuous, 0b110, "continuous no more");
        assert_eq!(lease.judge(second, &[1, 2], &[]), Proved);
        assert_eq!(lease.restorable(), 0b001);
    }

    #[test]
    fn a_node_given_its_key_again_is_not_continuous_any_answer_lost() {
        let mut lease = Lease::of(&[0, 1, 2]);
        let first = lease.voters();
        lease.judge(first, &[1, 2], &[]);
        let second = lease.voters();
        // The answer to the first extension arrives while the second one is out.
        lease.extension.vote(0, Vote::Absent);
        lease.judge(second, &[1, 2], &[]);
        assert_eq!(lease.restorable(), 0b001);
        lease.proof.add_restoration(round(&[]), 0b001);
        // The answer to the second extension is lost with the connection.
        let error = NodeError::sent(NodeErrorKind::Disconnected, "connection reset");
        lease.extension.vote(0, Vote::Failed(error));
        assert_eq!(lease.voters().continuous, 0b110);
    }

    #[test]
    fn an_extension_that_proves_nothing_makes_no_node_continuous() {
        let mut lease = Lease::of(&[0, 1]);
        lease.voters();
        for (granted, outcome, continuous) in [
            (&[0][..], Open, 0b011),
            (&[0], Open, 0b011),
            (&[0, 1], Proved, 0b111),
        ] {
            let voters = lease.voters();
            assert_eq!(lease.judge(voters, granted, &[]), outcome);
            // A late answer finds a key too.
            lease.extension.vote(2, Vote::GRANTED);
            assert_eq!(lease.voters().continuous, continuous);
        }
    }

    #[test]
    fn a_lease_rests_on_a_node_that_an_extension_made_continuous() {
        let mut lease = Lease::of(&[0, 1]);
        for rests_on in [0b011, 0b111] {
            let (voters, extension) = (lease.voters(), round(&[0, 1, 2]));
            let (acquisition, granted) = (lease.acquisition.seats(), extension.seats().granted);
            let judged = lease.proof.judge(acquisition, voters, &extension, granted);
            let counted = lease.proof.last_proof.as_ref().map(|it| it.counted);
            assert_eq!((judged, counted), (Proved, Some(rests_on)));
        }
    }

    #[test]
    fn an_extension_during_a_restoration_makes_no_node_continuous() {
        let mut lease = Lease::of(&[0, 1]);
        let first = lease.voters();
        lease.judge(first, &[0, 1, 2], &[]);
        let (one, other) = (lease.voters(), lease.voters());
        assert_eq!(other.candidates, 0b100);
        // The key turns out to be missing, and is restored after the other extension began.
        lease.judge(one, &[0, 1], &[2]);
        lease.proof.add_restoration(round(&[2]), 0b100);
        assert_eq!(lease.judge(other, &[0, 1, 2], &[]), Proved);
        let third = lease.voters();
        assert_eq!((third.continuous, third.candidates), (0b011, 0b100));
    }

    #[test]
    fn nothing_is_put_back_where_the_acquisition_may_still_arrive() {
        let mut lease = Lease::of(&[0, 1]);
        let voters = lease.voters();
        lease.judge(voters, &[0, 1], &[2]);
        assert_eq!(lease.restorable(), 0);
        let error = NodeError::unsent(NodeErrorKind::NotConnected, "connection refused");
        lease.acquisition.vote(2, Vote::Failed(error));
        assert_eq!(lease.restorable(), 0b100);
    }
}
