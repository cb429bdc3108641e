//! The lock of a caller of single operations: its kind, its keys and its token.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::Resource;
use redlock_core::node::{Answer, Operation, OwnerToken, PermitKey, Sharing, SharingKeys, Want};
use redlock_core::request::Kind as LockKind;
use redlock_core::testing::permit_key;

use crate::random::{Random, SeededEntropy};

use super::log::Kind;

/// For how long refused readers and writers are remembered.
const ADVICE: Duration = Duration::from_millis(60);

#[derive(Clone)]
pub(super) struct Hand {
    pub(super) keys: Resource,
    counters: Option<Resource>,
    pub(super) token: OwnerToken,
    /// In the order in which they are tried; empty for other locks.
    permits: Vec<PermitKey>,
    sharing: Option<Sharing>,
}

impl Hand {
    /// A plain lock on `keys`.
    pub(super) fn plain(keys: impl Into<Resource>, random: &mut Random) -> Self {
        let owner = format!("simulated/{}", 1 + random.below(9));
        let entropy = SeededEntropy::new(random.fork());
        Self {
            token: OwnerToken::draw(&owner, &entropy),
            keys: keys.into(),
            counters: None,
            permits: Vec::new(),
            sharing: None,
        }
    }

    pub(super) fn draw(random: &mut Random) -> Self {
        let tag = random.pick(&["{a}", "{b}", "{c}", "{d}"]);
        let one = |number: u64| Resource::from(&*format!("{tag}{number}"));
        let (kind, is_fenced) = (random.below(10), random.chance(3000));
        let keys = match kind {
            0..2 => Resource::all([format!("{tag}1"), format!("{tag}2")]),
            2..4 => one(1 + random.below(4)),
            4..6 => one(1),
            6..8 => one(3),
            _ => one(4),
        };
        let hand = Self::plain(keys, random);
        match kind {
            6..8 => hand.with_permits(random),
            8.. => hand.shared(random).fenced(is_fenced),
            _ => hand.fenced(is_fenced),
        }
    }

    /// Another caller's hand for the same lock.
    pub(super) fn behind(before: &Self, random: &mut Random) -> Self {
        let mut hand = before.clone();
        hand.token = Self::plain("", random).token;
        if !hand.permits.is_empty() {
            hand.keys = Resource::all(hand.permits.iter().map(|key| &key.key));
        }
        hand
    }

    fn fenced(mut self, is_fenced: bool) -> Self {
        if is_fenced {
            self.counters = Some(Resource::all(self.keys.names().map(counter_of)));
        }
        self
    }

    fn with_permits(mut self, random: &mut Random) -> Self {
        let count = random.pick(&[3, 3, 3, 10]);
        let mut numbers: Vec<u16> = (0..count).collect();
        numbers.rotate_left(random.index(usize::from(count)));
        let key = |permit| {
            let key = permit_key(&self.keys, b"", permit);
            let key = key.names().next().unwrap_or_default().into();
            PermitKey { permit, key }
        };
        self.permits = numbers.into_iter().map(key).collect();
        self.keys = Resource::all(self.permits.iter().map(|key| &key.key));
        self
    }

    fn shared(mut self, random: &mut Random) -> Self {
        let kind = random.pick(&[LockKind::Read, LockKind::Read, LockKind::Write]);
        let sharing = Sharing::new(Arc::new(SharingKeys::beside(&self.keys, b"")), kind);
        let is_patient = random.chance(5000);
        let waits = is_patient && kind == LockKind::Write;
        let intent = waits.then(|| Self::plain("", random).token);
        let advice = if is_patient { ADVICE } else { Duration::ZERO };
        self.sharing = Some(sharing.intent(intent).advice(advice).last(true));
        self
    }

    /// What may be asked while it is held.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        let mut kinds = vec![Kind::Extend, Kind::Inspect, Kind::Restore];
        if self.counters.is_some() {
            kinds[1] = Kind::Confirm;
        }
        kinds
    }

    /// The numbers of the permits, by their places.
    pub(super) fn numbers(&self) -> Vec<u16> {
        self.permits.iter().map(|key| key.permit).collect()
    }

    /// The first key that an acquisition names.
    pub(super) fn first_key(&self, want: Want) -> Vec<u8> {
        let first = self.permits.first().filter(|_| want.is_acquisition());
        let key = first.map(|key| &*key.key);
        key.or_else(|| self.keys.names().next())
            .unwrap_or_default()
            .to_vec()
    }

    /// Takes the answer to the acquisition: only the permit that is granted is held.
    pub(super) fn granted(&mut self, answer: &Answer) {
        let Answer::Granted {
            permits: Some(report),
            ..
        } = answer
        else {
            return;
        };
        let mut permits = self.permits.iter();
        let taken = permits.find(|key| report.taken == Some(key.permit));
        self.keys = Resource::all(taken.map(|key| &key.key));
    }

    pub(super) fn operation(&self, kind: Kind, ttl: Duration, hint: u64) -> Operation {
        let want = match kind {
            Kind::Acquire if !self.permits.is_empty() => Want::AcquirePermit { ttl },
            Kind::Acquire => Want::Acquire { ttl, hint },
            Kind::Confirm => Want::Confirm { counter: hint, ttl },
            Kind::Extend => Want::Extend { ttl },
            Kind::Restore => Want::Restore { ttl },
            Kind::Release => Want::Release { ttl },
            Kind::Inspect => Want::Inspect,
        };
        let counters = self.counters.clone();
        let counters = counters.filter(|_| matches!(kind, Kind::Acquire | Kind::Confirm));
        // Between its acquisition and its release, a writer's key is like that of any lock.
        let is_end = matches!(kind, Kind::Acquire | Kind::Release);
        let sharing = self.sharing.clone();
        let sharing = sharing.filter(|it| is_end || it.kind() == LockKind::Read);
        let operation = Operation::new(self.keys.clone(), self.token.clone(), want)
            .with_counters(counters)
            .with_sharing(sharing);
        match kind {
            Kind::Acquire => operation.with_permits(self.permits.clone()),
            _ => operation,
        }
    }
}

fn counter_of(key: &[u8]) -> Vec<u8> {
    [b"fence:", key].concat()
}
