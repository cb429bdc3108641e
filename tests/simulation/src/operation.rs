//! The action, the keys and the holder of a call, for the rules.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::node::{Argument, Call, Effect, OwnerToken, Submission, Vote};
use redlock_core::request::Kind;
use redlock_core::testing::Calls;
use redlock_core::{Request, Resource};

/// A call, as the rules see it.
pub struct Operation {
    /// The call itself.
    pub call: Call,
    /// The submission keeps its round alive, so that no other round has the same address.
    submission: Option<Submission>,
    want: Want,
    keys: Resource,
    counters: Option<Resource>,
    token: Option<OwnerToken>,
}

/// The action of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// A lock.
    Acquire {
        /// For how long.
        ttl: Duration,
    },
    /// The counters to stand there at least.
    Confirm {
        /// The number.
        counter: u64,
    },
    /// The keys to live on.
    Extend {
        /// For how long.
        ttl: Duration,
    },
    /// The keys that are gone back.
    Restore {
        /// For how long.
        ttl: Duration,
    },
    /// The keys gone.
    Release {
        /// The time for which the keys may live.
        ttl: Duration,
    },
    /// To know something, or to have something noted.
    Inspect,
}

impl Want {
    /// True for an acquisition.
    pub const fn is_acquisition(self) -> bool {
        matches!(self, Self::Acquire { .. })
    }
}

impl Operation {
    /// Reads what was submitted.
    pub fn of(submission: &Submission) -> Arc<Self> {
        Self::read(submission.call().clone(), Some(submission.owed()))
    }

    fn read(call: Call, submission: Option<Submission>) -> Arc<Self> {
        let number = |at: usize| {
            let word = call.arguments().get(at).map(Argument::as_bytes);
            let digits = word.and_then(|word| std::str::from_utf8(word).ok());
            digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
        };
        let name = call.script.name;
        let ttl = Duration::from_millis(number(1));
        let want = match call.effect {
            Effect::Undoes(ttl) => Want::Release { ttl },
            Effect::Takes => Want::Acquire { ttl },
            Effect::PutsBack => Want::Restore { ttl },
            Effect::Keeps if name.starts_with("extend") => match number(2) {
                0 => Want::Extend { ttl },
                counter => Want::Confirm { counter },
            },
            Effect::Keeps | Effect::Looks => Want::Inspect,
        };
        let is_lock = |key: &&[u8]| {
            let beside =
                ["fence", "readers", "intent", "turn", "queue"].map(|it| format!("redlock:{it}:"));
            call.effect == Effect::Looks || !beside.iter().any(|it| key.starts_with(it.as_bytes()))
        };
        let counters = call.keys().filter(|key| key.starts_with(b"redlock:fence"));
        let counters: Vec<_> = counters.collect();
        let has_counters = !counters.is_empty() && !matches!(want, Want::Release { .. });
        Arc::new(Self {
            want,
            keys: Resource::all(call.keys().filter(is_lock)),
            counters: has_counters.then(|| Resource::all(counters)),
            token: call.token().cloned(),
            call,
            submission,
        })
    }

    /// Returns the release of `keys` by `token`.
    pub fn release(keys: Resource, token: &OwnerToken, ttl: Duration) -> Arc<Self> {
        let calls = Calls::of(&Request::new(keys), b"");
        Self::read(calls.release(token, ttl, true), None)
    }

    /// True if both belong to one round.
    pub fn is_of_round(&self, other: &Self) -> bool {
        let submissions = self.submission.as_ref().zip(other.submission.as_ref());
        submissions.is_some_and(|(one, other)| std::ptr::eq(one.call(), other.call()))
    }

    /// Returns what it wants.
    pub fn want(&self) -> Want {
        self.want
    }

    /// Returns the keys of the lock.
    pub fn keys(&self) -> &Resource {
        &self.keys
    }

    /// Returns the keys of the fencing counters.
    pub fn counters(&self) -> Option<&Resource> {
        self.counters.as_ref()
    }

    /// Returns the owner token.
    ///
    /// # Panics
    /// For a question.
    pub fn token(&self) -> &OwnerToken {
        self.token
            .as_ref()
            .expect("what takes, keeps or undoes something has a token")
    }

    /// True if it takes one of several permits.
    pub fn is_of_permits(&self) -> bool {
        self.call.script.name == "acquire-permit"
    }

    /// Returns the number of the permit that `vote` grants.
    pub fn taken(&self, vote: &Vote) -> Option<u16> {
        let Vote::Granted { choice, .. } = vote else {
            return None;
        };
        let key = self.call.keys().nth((*choice)?.into())?;
        let Some(number) = key.strip_prefix(b"redlock:permit:") else {
            // The first one is the plain lock.
            return Some(0);
        };
        let digits = number.split(|byte| *byte == b':').next()?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// Returns whether it reads or writes, or `None` for other locks and for calls about any kind.
    pub fn sharing(&self) -> Option<Kind> {
        let name = self.call.script.name;
        let kind = if name.ends_with("-read") || self.call.keys().len() == 2 {
            Kind::Read
        } else {
            Kind::Write
        };
        is_of_sharing(&self.call).then_some(kind)
    }
}

/// True if readers and writers have this kind of lock.
pub(crate) fn is_shared(kind: Kind) -> bool {
    matches!(kind, Kind::Read | Kind::Write)
}

fn is_of_sharing(call: &Call) -> bool {
    let name = call.script.name;
    name.ends_with("-read") || matches!(name, "acquire-write" | "release-shared")
}

/// Returns the keys beside the key of a lock with readers and writers: the readers, the intent, the turn.
pub(crate) fn beside(keys: &Resource) -> [Vec<u8>; 3] {
    let key = keys.names().next().unwrap_or_default();
    ["readers", "intent", "turn"].map(|kind| {
        let beginning = format!("redlock:{kind}:{{");
        [beginning.as_bytes(), key, b"}"].concat()
    })
}
