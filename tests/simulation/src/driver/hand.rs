//! The lock of a caller of single calls: its kind, its keys and its token.

use std::time::Duration;

use redlock_core::node::{Call, OwnerToken, Vote};
use redlock_core::request::Kind as LockKind;
use redlock_core::testing::{Calls, inspect};
use redlock_core::{Request, Resource};

use crate::random::{Random, SeededEntropy};

use super::log::Kind;

/// For how long refused readers and writers are remembered.
const ADVICE: Duration = Duration::from_millis(60);

#[derive(Clone)]
pub(super) struct Hand {
    /// Those of the permit, once one was granted.
    calls: Calls,
    /// Those of all permits.
    asked: Calls,
    is_fenced: bool,
    pub(super) token: OwnerToken,
}

impl Hand {
    fn new(request: &Request, advice: Option<Duration>, random: &mut Random) -> Self {
        let name = draw(random);
        let calls = Calls::waiting(request, b"", advice.map(|advice| (&name, advice)));
        Self {
            asked: calls.clone(),
            calls,
            is_fenced: request.fencing,
            token: draw(random),
        }
    }

    /// A plain lock on `keys`.
    pub(super) fn plain(keys: impl Into<Resource>, random: &mut Random) -> Self {
        Self::new(&Request::new(keys), None, random)
    }

    pub(super) fn draw(random: &mut Random) -> Self {
        let tag = random.pick(&["{a}", "{b}", "{c}", "{d}"]);
        let kind = random.below(10);
        let number = match kind {
            2..4 => 1 + random.below(4),
            4..6 => 1,
            6..8 => 3,
            _ => 4,
        };
        let mut request = Request::new(&*format!("{tag}{number}"));
        if kind < 2 {
            request.resource = Resource::all([format!("{tag}1"), format!("{tag}2")]);
        }
        request.fencing = random.chance(3000) && !(6..8).contains(&kind);
        request.kind = match kind {
            6..8 => LockKind::Permits(random.pick(&[3, 3, 3, 10])),
            8.. => random.pick(&[LockKind::Read, LockKind::Read, LockKind::Write]),
            _ => LockKind::Exclusive,
        };
        let advice = random.pick(&[Some(ADVICE), None]);
        Self::new(&request, advice, random)
    }

    /// Another caller's hand for the same lock.
    pub(super) fn behind(before: &Self, random: &mut Random) -> Self {
        Self {
            calls: before.asked.clone(),
            token: draw(random),
            ..before.clone()
        }
    }

    /// What may be asked while it is held.
    pub(super) fn kinds(&self) -> [Kind; 3] {
        let asks = [Kind::Inspect, Kind::Confirm][usize::from(self.is_fenced)];
        [Kind::Extend, asks, Kind::Restore]
    }

    pub(super) fn keys(&self) -> &Resource {
        self.calls.keys()
    }

    /// Takes the vote on the acquisition: only the permit that is granted is held.
    pub(super) fn granted(&mut self, vote: &Vote) {
        let acquisition = self.asked.acquire(&self.token, ADVICE, 0);
        if let Some(chosen) = self.asked.chosen(&acquisition, vote) {
            self.calls = chosen;
        }
    }

    /// # Panics
    /// For the confirmation of a lock without a fencing token.
    pub(super) fn call(&self, kind: Kind, ttl: Duration, hint: u64) -> Call {
        let (calls, token) = (&self.calls, &self.token);
        match kind {
            Kind::Acquire => calls.acquire(token, ttl, hint),
            Kind::Confirm => calls.confirm(token, hint, ttl).expect("it is fenced"),
            Kind::Extend => calls.extend(token, ttl),
            Kind::Restore => calls.restore(token, ttl),
            Kind::Release => calls.release(token, ttl, true),
            Kind::Inspect => inspect(calls.keys()),
        }
    }
}

fn draw(random: &mut Random) -> OwnerToken {
    let owner = format!("simulated/{}", 1 + random.below(9));
    OwnerToken::draw(&owner, &SeededEntropy::new(random.fork()))
}
