//! Which nodes an extension may count.
#![doc = include_str!("extension_proof.md")]

use std::sync::Arc;

use super::majority;
use super::round::{Round, Seats, seats_in};

/// The continuous seats of a claim, in addition to those of its acquisition.
#[derive(Default)]
pub(crate) struct ExtensionProof {
    /// Seats that became continuous by two extensions.
    promoted: u64,
    /// Seats where the key was found gone, or put back, and that did not become continuous since.
    gone: u64,
    /// Seats where the last extension that was judged found no key. If a seat had not answered it by
    /// then, the answer to the extension before counts.
    absent: u64,
    restorations: Option<Restorations>,
    /// The extension that was judged last. Its late answers are read when the next extension begins, so
    /// that a node that is always slower than the majority is heard.
    last: Option<Arc<Round>>,
}

/// The times that keys were put back: the last one with its seats, and the seats and the number of all.
struct Restorations {
    last: (Arc<Round>, u64),
    seats: u64,
    count: u32,
}

/// Which seats count in one extension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Voters {
    pub(crate) continuous: u64,
    /// Seats that become continuous if the continuous seats win. The extension before found our key there.
    found: u64,
    /// How often keys had been put back when the extension began.
    restorations: u32,
}

/// The result of an extension's votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProofState {
    /// The lock has been ours all the time.
    Proved,
    /// Too many continuous nodes no longer hold our key, so that no proof is possible.
    Lost,
    /// The votes so far neither prove nor exclude it.
    Open,
}

impl ExtensionProof {
    /// The seats that count in an extension that is about to begin.
    pub(crate) fn voters(&mut self, acquisition: Seats) -> Voters {
        let mut found = 0;
        if let Some(last) = &self.last {
            let last = last.seats();
            self.gone |= last.absent | last.held;
            found = last.granted;
        }
        // A key that may still arrive there proves nothing.
        found &= !self.restoring();
        let continuous = (acquisition.in_time | self.promoted) & !self.gone;
        Voters {
            continuous,
            found: found & !continuous,
            restorations: self.restored_times(),
        }
    }

    /// The seats whose grants of an extension with these `voters` count.
    pub(crate) fn counts(&self, acquisition: Seats, voters: Voters) -> u64 {
        // Another extension may have found more keys gone meanwhile, and more nodes may have granted
        // the acquisition in time.
        (voters.continuous | acquisition.in_time) & !self.gone
    }

    /// Judges an extension's votes: `granted` by nodes that cannot have forgotten since. Also returns
    /// the seats on which the lease rests if the extension is a proof.
    pub(crate) fn judge(
        &mut self,
        acquisition: Seats,
        voters: Voters,
        configured: usize,
        round: &Arc<Round>,
        granted: u64,
    ) -> (ProofState, u64) {
        let Seats { absent, held, .. } = round.seats();
        self.gone |= absent | held;
        let counts = self.counts(acquisition, voters);
        let outcome = if seats_in(counts & granted) >= majority(configured) {
            ProofState::Proved
        } else if seats_in(counts) < majority(configured) {
            ProofState::Lost
        } else {
            ProofState::Open
        };
        let before = self.last.replace(Arc::clone(round));
        let before = before.map_or(0, |before| before.seats().absent);
        self.absent = absent | before & !round.seats().answered();
        // A key that another extension put back meanwhile may have come after the beginning of this
        // one.
        let is_undisturbed = voters.restorations == self.restored_times();
        let promoted = if is_undisturbed && outcome == ProofState::Proved {
            voters.found & !(absent | held)
        } else {
            0
        };
        self.promoted |= promoted;
        self.gone &= !promoted;
        (outcome, counts | promoted)
    }

    /// The seats where the key may be put back if the last extension was a proof: the key is gone
    /// there, and no other `SET` of ours may still arrive.
    pub(crate) fn restorable(&self, acquisition: Seats) -> u64 {
        if self.restoring() != 0 {
            // A `SET` of ours is still under way, and there is only one at a time.
            return 0;
        }
        self.absent & acquisition.answered()
    }

    pub(crate) fn restored(&mut self, round: Arc<Round>, seats: u64) {
        // The key was missing on these seats, so they are not continuous, even if the answer came late.
        self.gone |= seats;
        self.restorations = Some(Restorations {
            last: (round, seats),
            seats: seats | self.restored_seats(),
            count: self.restored_times().wrapping_add(1),
        });
    }

    /// The seats where keys were put back.
    pub(crate) fn restored_seats(&self) -> u64 {
        self.restorations.as_ref().map_or(0, |it| it.seats)
    }

    fn restored_times(&self) -> u32 {
        self.restorations.as_ref().map_or(0, |it| it.count)
    }

    /// The seats where a key that was put back may still arrive.
    fn restoring(&self) -> u64 {
        let last = self.restorations.as_ref().map(|it| &it.last);
        last.map_or(0, |(round, seats)| seats & !round.seats().answered())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ProofState::{Lost, Open, Proved};
    use super::*;
    use crate::env::Moment;
    use crate::env::still_clock::still_clock;
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
        /// A lease of these grants, to which later ones may still come in time.
        fn under_way(granted: &[usize]) -> Self {
            Self {
                acquisition: round(granted),
                proof: ExtensionProof::default(),
                extension: round(&[]),
            }
        }

        /// A lease of these grants. Later grants are too late.
        fn of(granted: &[usize]) -> Self {
            let lease = Self::under_way(granted);
            let (clock, of_code) = still_clock();
            clock.advance(Duration::from_secs(1));
            let long_ago = Moment::from_origin(Duration::ZERO);
            lease.acquisition.is_lease(of_code, long_ago);
            lease
        }

        /// An extension begins.
        fn voters(&mut self) -> Voters {
            self.proof.voters(self.acquisition.seats())
        }

        fn restorable(&mut self) -> u64 {
            self.proof.restorable(self.acquisition.seats())
        }

        /// Judges an extension by its grants and the missing keys.
        fn extend(&mut self, voters: Voters, granted: &[usize], gone: &[usize]) -> ProofState {
            let round = round(granted);
            for seat in gone {
                round.vote(*seat, Vote::Absent);
            }
            let (acquisition, granted) = (self.acquisition.seats(), round.seats().granted);
            let (outcome, _) = self.proof.judge(acquisition, voters, 3, &round, granted);
            self.extension = round;
            outcome
        }
    }

    #[test]
    fn a_late_grant_counts_once_found_by_an_extension_and_proved() {
        let mut lease = Lease::of(&[0, 1]);
        let first = lease.voters();
        assert_eq!((first.continuous, first.found), (0b011, 0));
        // The third grant comes after the first extension was sent.
        lease.acquisition.vote(2, Vote::GRANTED);
        assert_eq!(lease.extend(first, &[0, 2], &[]), Open);
        let second = lease.voters();
        assert_eq!((second.continuous, second.found), (0b011, 0b100));
        assert_eq!(lease.extend(second, &[0, 1, 2], &[]), Proved);
        let third = lease.voters();
        assert_eq!(lease.extend(third, &[1, 2], &[]), Proved);
    }

    #[test]
    fn a_grant_in_time_counts_whatever_extension_is_under_way() {
        let mut lease = Lease::under_way(&[0, 1]);
        let first = lease.voters();
        assert_eq!(first.continuous, 0b011);
        lease.acquisition.vote(2, Vote::GRANTED);
        let outcome = lease.extend(first, &[0], &[1]);
        assert_eq!(outcome, Open, "its answer is still out");
        let second = lease.voters();
        assert_eq!(second.continuous, 0b101);
        assert_eq!(lease.extend(second, &[0, 2], &[1]), Proved);
    }

    #[test]
    fn a_continuous_node_that_lost_the_key_is_continuous_no_more() {
        let mut lease = Lease::of(&[0, 1]);
        let first = lease.voters();
        lease.acquisition.vote(2, Vote::GRANTED);
        assert_eq!(lease.extend(first, &[0, 2], &[1]), Lost);
    }

    #[test]
    fn a_key_that_was_put_back_counts_once_that_is_known_and_proved() {
        let mut lease = Lease::of(&[0, 1, 2]);
        let first = lease.voters();
        assert_eq!(lease.extend(first, &[1, 2], &[0]), Proved);
        assert_eq!(lease.restorable(), 0b001);
        let putting_back = round(&[]);
        lease.proof.restored(Arc::clone(&putting_back), 0b001);

        // Under way: neither counted nor sent again.
        let second = lease.voters();
        assert_eq!((second.continuous, second.found), (0b110, 0));
        assert_eq!(lease.extend(second, &[0, 1], &[]), Open);
        assert_eq!(lease.restorable(), 0);
        assert_eq!(lease.voters().found, 0);

        putting_back.vote(0, Vote::GRANTED);
        let third = lease.voters();
        assert_eq!((third.continuous, third.found), (0b110, 0b001));
        assert_eq!(lease.extend(third, &[0, 1, 2], &[]), Proved);
        let fourth = lease.voters();
        assert_eq!(lease.extend(fourth, &[0, 1], &[]), Proved);
    }

    #[test]
    fn an_extension_during_a_restoration_does_not_count_its_keys() {
        let mut lease = Lease::of(&[0, 1, 2]);
        let (one, other) = (lease.voters(), lease.voters());
        assert_eq!(lease.extend(one, &[1, 2], &[0]), Proved);
        lease.proof.restored(round(&[0]), 0b001);
        // The other one's question reached the node behind the restoration.
        assert_eq!(lease.extend(other, &[0, 1], &[]), Open);
    }

    #[test]
    fn a_node_slower_than_the_majority_is_heard_a_round_later() {
        let mut lease = Lease::of(&[0, 1, 2]);
        let first = lease.voters();
        lease.extend(first, &[1, 2], &[]);
        assert_eq!(lease.restorable(), 0);
        lease.extension.vote(0, Vote::Absent);
        let second = lease.voters();
        assert_eq!(second.continuous, 0b110, "continuous no more");
        assert_eq!(lease.extend(second, &[1, 2], &[]), Proved);
        assert_eq!(lease.restorable(), 0b001);
    }

    #[test]
    fn a_node_given_its_key_again_is_not_continuous_any_answer_lost() {
        let mut lease = Lease::of(&[0, 1, 2]);
        let first = lease.voters();
        lease.extend(first, &[1, 2], &[]);
        let second = lease.voters();
        // The answer to the first comes while the second is out.
        lease.extension.vote(0, Vote::Absent);
        lease.extend(second, &[1, 2], &[]);
        assert_eq!(lease.restorable(), 0b001);
        lease.proof.restored(round(&[]), 0b001);
        // The answer to the second gets lost with the connection.
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
            assert_eq!(lease.extend(voters, granted, &[]), outcome);
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
            let judged = lease
                .proof
                .judge(acquisition, voters, 3, &extension, granted);
            assert_eq!(judged, (Proved, rests_on));
        }
    }

    #[test]
    fn an_extension_during_a_restoration_makes_no_node_continuous() {
        let mut lease = Lease::of(&[0, 1]);
        let first = lease.voters();
        lease.extend(first, &[0, 1, 2], &[]);
        let (one, other) = (lease.voters(), lease.voters());
        assert_eq!(other.found, 0b100);
        // The key is gone after all, and is put back behind the other's beginning.
        lease.extend(one, &[0, 1], &[2]);
        lease.proof.restored(round(&[2]), 0b100);
        assert_eq!(lease.extend(other, &[0, 1, 2], &[]), Proved);
        let third = lease.voters();
        assert_eq!((third.continuous, third.found), (0b011, 0b100));
    }

    #[test]
    fn nothing_is_put_back_where_the_acquisition_may_still_arrive() {
        let mut lease = Lease::of(&[0, 1]);
        let voters = lease.voters();
        lease.extend(voters, &[0, 1], &[2]);
        assert_eq!(lease.restorable(), 0);
        let error = NodeError::unsent(NodeErrorKind::NotConnected, "connection refused");
        lease.acquisition.vote(2, Vote::Failed(error));
        assert_eq!(lease.restorable(), 0b100);
    }
}
