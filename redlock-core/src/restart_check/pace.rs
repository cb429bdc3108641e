//! Clocks that run faster than the drift allowance covers, and small steps.
#![doc = include_str!("pace.md")]

use std::time::Duration;

use crate::env::{Moment, micros};
use crate::model::brief::Brief;

use super::clock::{Gain, Look, SLACK_US, made_up_in};
use super::{Action, CLOCK_WINDOW, CheckAnswer, CheckedSet};

/// When to look again at a clock that runs too fast.
const SLEWING: Duration = Duration::from_millis(500);

/// The pause before the next check while the other nodes are asked whose clock it is.
const ASKED: Duration = Duration::from_millis(25);

/// A node is asked along with the others if it was not asked for so long.
const ASKED_WITHIN: Duration = Duration::from_secs(5);

/// The shortest interval at which the other nodes are asked for one node's sake.
const ASKS_EVERY: Duration = Duration::from_secs(5);

/// What is remembered of the pace of one node's clock.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// What the node gained, and when the allowance has made up for that.
    gained: Option<(i128, Moment)>,
    /// When the other nodes were last asked for this node's sake.
    doubted: Option<Moment>,
    /// This host's loss when leases were last given up for it, and when that was.
    given_up: Option<(i128, Moment)>,
}

/// The conclusion from a node's gain.
#[derive(Debug, Default)]
pub(super) struct PaceVerdict {
    pub(super) action: Option<Action>,
    pub(super) look_again: Option<Duration>,
    /// True if grants of the node no longer count for leases.
    pub(super) is_new_epoch: bool,
}

impl Pace {
    /// The conclusion from a look at the clock of `seat`.
    pub(super) fn judge(
        &mut self,
        peers: &CheckedSet,
        seat: usize,
        check: &CheckAnswer<'_>,
        look: Look,
    ) -> PaceVerdict {
        let mut step = PaceVerdict::default();
        // A slow answer ends nothing.
        if look.is_sharp {
            self.compare(peers, seat, check, look.gain, &mut step);
        }
        self.gained = self.gained.filter(|(_, until)| *until > check.answered);
        let look_again = step.look_again.unwrap_or(SLEWING);
        step.action = self.gained.map(|it| hold(it, look_again, check));
        step
    }

    fn compare(
        &mut self,
        peers: &CheckedSet,
        seat: usize,
        check: &CheckAnswer<'_>,
        gain: Gain,
        step: &mut PaceVerdict,
    ) {
        let compared = peers.compare(seat, check.answered);
        let lost = gain.at_least.min(compared.gained);
        step.is_new_epoch = self.has_lost(lost, peers, check);
        let ago = |then: Moment| check.answered.saturating_since(then);
        let unasked = compared.asked.map(ago).unwrap_or_default();
        if unasked > ASKED_WITHIN {
            // Clocks that are read at the same times are compared best.
            self.ask_others(peers, check);
        }
        if compared.beyond > SLACK_US {
            step.is_new_epoch |= compared.beyond > micros(CLOCK_WINDOW);
            let made_up_in = made_up_in(compared.beyond).min(peers.quarantine());
            let until = check.answered.saturating_add(made_up_in);
            // An answer that is slower shows less of it.
            if self.gained.is_none_or(|(_, before)| until > before) {
                self.gained = Some((compared.beyond, until));
            }
        } else if compared.beyond_then > SLACK_US && unasked > ASKED * 2 {
            let is_held = |(_, until): &(i128, Moment)| *until > check.answered;
            if !self.gained.as_ref().is_some_and(is_held) {
                step.look_again = self.ask_others(peers, check);
                // A node that is held does not vote before the others have told.
                let until = check.answered.saturating_add(ASKED);
                self.gained = self.gained.map(|(gained, _)| (gained, until));
            }
        } else if gain.is_made_up(compared.gained) {
            // The clock went back, or no key can be left of the time when it gained.
            self.gained = None;
        }
        if gain.is_left(compared.gained) {
            // The clock is above its line still. Time alone does not open the node.
            let until = check.answered.saturating_add(ASKED);
            self.gained = self
                .gained
                .map(|(gained, before)| (gained, before.max(until)));
        }
    }

    /// True if leases are to be given up, because this host lost `lost` µs.
    fn has_lost(&mut self, lost: i128, peers: &CheckedSet, check: &CheckAnswer<'_>) -> bool {
        let lost = lost.max(0);
        let is_remembered = |(_, then): &(i128, Moment)| {
            check.answered.saturating_since(*then) <= peers.quarantine()
        };
        let given_up = self.given_up.filter(is_remembered);
        self.given_up = given_up.map(|(before, then)| (before.min(lost), then));
        let before = self.given_up.map_or(0, |(before, _)| before);
        let is_wrong = lost - before > micros(CLOCK_WINDOW);
        if is_wrong {
            self.given_up = Some((lost, check.answered));
        }
        is_wrong
    }

    /// The other nodes may have gained as much since they were asked. When to look again.
    fn ask_others(&mut self, peers: &CheckedSet, check: &CheckAnswer<'_>) -> Option<Duration> {
        let ago = |then: Moment| check.answered.saturating_since(then);
        let doubted = self.doubted.filter(|then| ago(*then) <= ASKS_EVERY);
        if doubted.is_none() {
            self.doubted = Some(check.answered);
            peers.doubt();
        }
        doubted
            .is_none_or(|then| ago(then) <= SLEWING)
            .then_some(ASKED)
    }
}

fn hold((gained, until): (i128, Moment), look_again: Duration, check: &CheckAnswer<'_>) -> Action {
    let gained = Duration::from_micros(u64::try_from(gained).unwrap_or(u64::MAX));
    Action::Hold {
        reason: format!(
            "its clock runs faster than the drift allowance covers; it gained {} more than that, \
             and votes again when the allowance has made up for it, in {} at the earliest",
            Brief(gained),
            Brief(until.saturating_since(check.answered)),
        ),
        look_again,
        is_settled: true,
    }
}
