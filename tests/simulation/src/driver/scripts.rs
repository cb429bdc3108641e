//! What our scripts ask of a server's keys, and how they answer. [`MemoryNode`] serves them, which a test holds
//! against a real server.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redlock_core::node::{
    Answer, Holding, Obstacle, Operation, OwnerToken, PermitKey, PermitReport, Remaining, Sharing,
    SharingKeys, Want,
};
use redlock_core::redis::scripts;
use redlock_core::request::Kind as LockKind;
use redlock_core::{MemoryNode, Resource};

use super::log::Did;
use super::resp::Reply;

/// A command's words.
pub(super) type Words<'a> = &'a [Vec<u8>];

/// The names of the scripts, by their hashes.
static BY_SHA: LazyLock<BTreeMap<String, &str>> = LazyLock::new(|| {
    let sha = |text: &str| sha1_smol::Sha1::from(text).digest().to_string();
    scripts().map(|(name, text)| (sha(text), name)).collect()
});

/// Their hashes, by their texts.
static SHAS: LazyLock<BTreeMap<&str, String>> = LazyLock::new(|| {
    let sha = |text: &str| sha1_smol::Sha1::from(text).digest().to_string();
    scripts().map(|(_, text)| (text, sha(text))).collect()
});

/// The hash of the script that `EVAL` or `EVALSHA` calls by `word`, if it is one of ours.
pub(super) fn sha_of(is_text: bool, word: &[u8]) -> Option<String> {
    let word = std::str::from_utf8(word).ok()?;
    if is_text {
        return SHAS.get(word).cloned();
    }
    BY_SHA.contains_key(word).then(|| word.to_owned())
}

/// A call of a script, or of a command that does the same.
pub(super) struct Call<'a> {
    name: &'static str,
    /// All keys of the lock, without the marker.
    pub(super) keys: Words<'a>,
    /// The node's marker, if it is to be checked.
    pub(super) marker: Option<&'a Vec<u8>>,
    arguments: Words<'a>,
}

impl<'a> Call<'a> {
    pub(super) fn new(name: &'static str, keys: Words<'a>, arguments: Words<'a>) -> Self {
        let mut call = Self {
            name,
            keys,
            marker: None,
            arguments,
        };
        let count = match name {
            "acquire-fenced" => keys.len() / 2 * 2,
            "acquire-read" | "acquire-write" => keys.len().min(5),
            _ => keys.len(),
        };
        call.marker = keys.get(count);
        call.keys = &keys[..count];
        call
    }

    /// The call of the script with the hash `sha`.
    pub(super) fn of_script(sha: &str, keys: Words<'a>, arguments: Words<'a>) -> Self {
        Self::new(BY_SHA[sha], keys, arguments)
    }

    /// True for the scripts of permits, of readers and of writers.
    pub(super) fn is_of_a_kind(&self) -> bool {
        self.is_shared() || self.name == "acquire-permit"
    }

    /// True for the script that releases several locks.
    pub(super) fn is_batch(&self) -> bool {
        self.name == "release-each"
    }

    fn is_shared(&self) -> bool {
        self.is_of_a_reader() || matches!(self.name, "acquire-write" | "release-shared")
    }

    fn is_of_a_reader(&self) -> bool {
        self.name.ends_with("-read")
    }

    fn is_fenced(&self) -> bool {
        match self.name {
            "acquire-read" | "acquire-write" => self.keys.len() == 5,
            name => name == "acquire-fenced",
        }
    }

    fn word(&self, at: usize) -> &'a [u8] {
        self.arguments.get(at).map_or(&[], |word| &word[..])
    }

    fn number(&self, at: usize) -> u64 {
        let digits = std::str::from_utf8(self.word(at)).ok();
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }

    fn millis(&self, at: usize) -> Duration {
        Duration::from_millis(self.number(at))
    }

    /// The keys that the lock's holder has.
    pub(super) fn locks(&self) -> Words<'a> {
        let count = match self.name {
            "acquire-fenced" | "confirm" => self.keys.len() / 2,
            "extend" if self.arguments.len() > 2 => self.keys.len() / 2,
            _ if self.is_shared() => 1,
            _ => self.keys.len(),
        };
        &self.keys[..count]
    }

    pub(super) fn operation(&self) -> Operation {
        let token = OwnerToken::received(self.word(0));
        let keys = Resource::all(self.locks());
        if self.name == "acquire-permit" {
            return self.of_a_permit(keys, token);
        }
        let (ttl, hint) = (self.millis(1), self.hint_at(2));
        let want = match self.name {
            "set" | "acquire-all" | "acquire-fenced" => Want::Acquire { ttl, hint },
            "acquire-read" | "acquire-write" => Want::Acquire {
                ttl,
                hint: self.hint_at(4),
            },
            "confirm" | "confirm-read" => Want::Confirm {
                counter: self.number(1),
                // The counter lives for twice as long, or for an hour.
                ttl: self.millis(2) / 2,
            },
            "extend" | "extend-read" => Want::Extend { ttl },
            "restore" | "restore-read" => Want::Restore { ttl },
            "pttl" | "peek" => Want::Inspect,
            _ => Want::Release {
                ttl: Duration::ZERO,
            },
        };
        let counters = match self.name {
            "acquire-fenced" | "confirm" | "extend" => &self.keys[self.locks().len()..],
            _ if self.is_shared() => self.keys.get(4..).unwrap_or_default(),
            _ => &[],
        };
        let counters = (!counters.is_empty()).then(|| Resource::all(counters));
        Operation::new(keys.clone(), token, want)
            .with_counters(counters)
            .with_sharing(self.is_shared().then(|| self.sharing(&keys)))
    }

    fn hint_at(&self, at: usize) -> u64 {
        if self.is_fenced() { self.number(at) } else { 0 }
    }

    fn sharing(&self, keys: &Resource) -> Sharing {
        let beside = SharingKeys::beside(keys, b"");
        let named = [beside.readers(), beside.intent(), beside.turn()];
        let is_beside = self.keys[1..]
            .iter()
            .zip(named)
            .all(|(key, known)| key == known);
        assert!(is_beside, "other keys than those of the lock");
        let kind = if self.is_of_a_reader() {
            LockKind::Read
        } else {
            LockKind::Write
        };
        let (intent, advice, turn) = match self.name {
            "acquire-write" => (self.word(3), self.millis(2), 0),
            "acquire-read" => (&[][..], self.millis(2), 0),
            "release-shared" => (self.word(1), Duration::ZERO, self.number(2)),
            _ => (&[][..], Duration::ZERO, 0),
        };
        let intent = (!intent.is_empty()).then(|| OwnerToken::received(intent));
        Sharing::new(Arc::new(beside), kind)
            .intent(intent)
            .advice(advice)
            .last(turn > 0)
    }

    /// The acquisition of a permit, which are numbered by their places.
    fn of_a_permit(&self, keys: Resource, token: OwnerToken) -> Operation {
        let permits = (0..).zip(self.keys).map(|(permit, key)| PermitKey {
            permit,
            key: key[..].into(),
        });
        let ttl = self.millis(1);
        let want = Want::AcquirePermit { ttl };
        Operation::new(keys, token, want).with_permits(permits.collect())
    }

    /// The value that a refusal names, which is still there.
    fn named(&self, holding: &Holding, memory: &MemoryNode) -> Option<Vec<u8>> {
        if self.name == "acquire-permit" {
            let held = self.locks().iter().filter(|key| memory.get(key).is_some());
            let first = held.min_by_key(|key| memory.remaining(key))?;
            return memory.get(first);
        }
        let mut values = self.locks().iter().filter_map(|key| memory.get(key));
        match holding.obstacle() {
            Obstacle::WaitingWriter => memory.get(&self.keys[2]),
            _ if self.name == "extend" => values.find(|value| value != self.word(0)),
            _ => values.next(),
        }
    }

    /// What came of it, behind its service.
    pub(super) fn did(&self, answer: &Answer, memory: &MemoryNode) -> Did {
        match answer {
            Answer::Granted {
                permits: Some(report),
                ..
            } => Did::Permit(report.taken),
            Answer::Granted { counter, .. } => Did::Granted(*counter),
            Answer::Held(holding) => match holding.remaining() {
                Remaining::Expires(left) => {
                    Did::Left(i64::try_from(left.as_millis()).unwrap_or(i64::MAX))
                }
                _ => Did::Held(self.named(holding, memory)),
            },
            Answer::Failed(error) => Did::Error(format!("ERR {error}")),
            _ => Did::Absent,
        }
    }

    /// The script's reply.
    pub(super) fn reply(&self, answer: &Answer, memory: &MemoryNode) -> Reply {
        let is_asked = matches!(self.name, "pttl" | "peek");
        match answer {
            Answer::Failed(error) => Reply::Error(format!("ERR {error}")),
            Answer::Granted {
                permits: Some(report),
                ..
            } => self.permit_reply(report, 0, None),
            Answer::Granted { counter, .. } => {
                Reply::Int(i64::try_from(counter.unwrap_or(1)).unwrap_or(i64::MAX))
            }
            Answer::Held(holding) => {
                let value = self.named(holding, memory);
                self.refusal(holding, value)
            }
            _ if self.name == "peek" => Reply::Nil,
            _ => Reply::Int(if is_asked { -2 } else { -1 }),
        }
    }

    fn refusal(&self, holding: &Holding, value: Option<Vec<u8>>) -> Reply {
        let left = match holding.remaining() {
            Remaining::Expires(left) => u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            _ => 0,
        };
        let value = value.unwrap_or_default();
        let lettered = |letter: &[u8]| Reply::Bulk([letter, &value].concat());
        match self.name {
            "acquire-permit" => {
                let report = holding.permits().cloned().unwrap_or_default();
                self.permit_reply(&report, left, Some(value))
            }
            "acquire-read" | "acquire-write" => match holding.obstacle() {
                Obstacle::WaitingWriter => lettered(b"i"),
                Obstacle::Readers => Reply::text("r"),
                Obstacle::ReadersTurn => Reply::text("t"),
                _ => lettered(b"="),
            },
            "pttl" => Reply::Int(i64::try_from(left).unwrap_or(i64::MAX)),
            "peek" => {
                let place = holding.place().unwrap_or(0);
                Reply::Bulk([format!("{place} {left} ").as_bytes(), &value].concat())
            }
            "set" | "acquire-all" | "acquire-fenced" | "extend" | "extend-read" => {
                Reply::Bulk(value)
            }
            _ => Reply::Int(0),
        }
    }

    fn permit_reply(&self, report: &PermitReport, left: u64, held: Option<Vec<u8>>) -> Reply {
        let bit = |(place, _)| {
            if report.free.contains(&place) {
                '1'
            } else {
                '0'
            }
        };
        let bits: String = (0..).zip(self.keys).map(bit).collect();
        Reply::Array(vec![
            Reply::Int(i64::from(held.is_none())),
            Reply::text(bits),
            Reply::Int(i64::try_from(left).unwrap_or(i64::MAX)),
            held.map_or(Reply::Nil, Reply::Bulk),
        ])
    }
}
