//! Permits: at most n holders of one resource, each by a majority.
#![doc = include_str!("permits.md")]

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher as _;
use std::io::Write as _;
use std::sync::Arc;

use crate::model::resource::{PERMITS, Resource};
use crate::model::token::OwnerToken;
use crate::node::hash_slot::key_beside;
use crate::node::{Answer, PermitKey, PermitReport};

use super::majority;

/// The keys of all permits of a resource. They are made once for an acquisition with all its attempts.
pub(crate) struct PermitKeys {
    /// By the permit's number.
    keys: Vec<PermitKey>,
    all: Resource,
}

impl PermitKeys {
    /// The keys of `count` permits of the lock key `key`, with `prefix`.
    pub(crate) fn new(key: &Resource, count: u16, prefix: &[u8]) -> Self {
        let plain = key.names().next().unwrap_or_default();
        let keys: Vec<_> = (0..count)
            .map(|permit| PermitKey {
                permit,
                key: name_of(plain, permit, prefix).into(),
            })
            .collect();
        let all = Resource::of(keys.iter().map(|key| Arc::clone(&key.key)).collect());
        Self { keys, all }
    }

    /// The keys of all permits.
    pub(crate) fn all(&self) -> &Resource {
        &self.all
    }

    /// The key of each permit, by its number.
    pub(crate) fn each(&self) -> impl Iterator<Item = Resource> {
        self.keys
            .iter()
            .map(|key| Resource::of(vec![Arc::clone(&key.key)]))
    }

    /// The key of one permit.
    pub(crate) fn of(&self, permit: u16) -> Option<Resource> {
        self.each().nth(permit.into())
    }

    /// The order in which every node tries the permits: the preferred ones first, and the others in an order
    /// that follows from `token`. Attempts at one moment therefore begin with different permits.
    pub(crate) fn order(&self, preferred: &BTreeSet<u16>, token: &OwnerToken) -> Vec<PermitKey> {
        let mut keys = self.keys.clone();
        let mut drawn = DefaultHasher::new();
        drawn.write(token.as_bytes());
        keys.sort_by_cached_key(|key| {
            let mut drawn = drawn.clone();
            drawn.write_u16(key.permit);
            (!preferred.contains(&key.permit), drawn.finish())
        });
        keys
    }
}

/// The key of a permit: the first one is the plain lock, so that a plain lock counts as a holder.
pub(crate) fn key_of(key: &Resource, permit: u16, prefix: &[u8]) -> Resource {
    Resource::all([name_of(
        key.names().next().unwrap_or_default(),
        permit,
        prefix,
    )])
}

fn name_of(plain: &[u8], permit: u16, prefix: &[u8]) -> Vec<u8> {
    if permit == 0 {
        return plain.to_vec();
    }
    let mut kind = PERMITS.to_vec();
    // Writing into a list of bytes never fails.
    let _ = write!(kind, "{permit}:");
    key_beside(plain, prefix, &kind)
}

/// The permits that a majority of the `configured` nodes calls free. What a node granted to this attempt
/// was free there.
pub(crate) fn free_at_majority(reports: &[Arc<PermitReport>], configured: usize) -> BTreeSet<u16> {
    let calling = |permit: &u16| {
        let calling = reports.iter().filter(|report| report.free.contains(permit));
        calling.count()
    };
    let any = reports.iter().flat_map(|report| &report.free).copied();
    any.filter(|permit| calling(permit) >= majority(configured))
        .collect()
}

/// The number of nodes that have no free permit. A node that granted another one than the rest has one.
pub(crate) fn refusing(answers: &[Option<Answer>]) -> usize {
    let refuses = |answer: &&Option<Answer>| match answer {
        Some(Answer::Held(holding)) => {
            let report = holding.permits.as_ref();
            report.is_none_or(|report| report.taken.is_none())
        }
        _ => false,
    };
    answers.iter().filter(refuses).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::io_thread::IoThread;
    use crate::node::hash_slot::slot_of;

    fn token() -> OwnerToken {
        let io = IoThread::start().unwrap();
        OwnerToken::draw("web/1", &*io.environment().entropy)
    }

    fn keys(name: &str, count: u16, prefix: &str) -> PermitKeys {
        let key = Resource::from(name).with_prefix(prefix.as_bytes());
        PermitKeys::new(&key, count, prefix.as_bytes())
    }

    fn order(keys: &PermitKeys, preferred: &[u16], token: &OwnerToken) -> Vec<u16> {
        let preferred = preferred.iter().copied().collect();
        let order = keys.order(&preferred, token);
        order.iter().map(|key| key.permit).collect()
    }

    #[test]
    fn permits_are_in_the_slot_of_the_lock_and_no_two_are_one() {
        let mut seen = Vec::new();
        for prefix in ["", "shop:", "{shop}:"] {
            for name in ["order:42", "{order}:42", "a{b}c", "x{"] {
                let keys = keys(name, 3, prefix);
                let plain = format!("{prefix}{name}");
                assert_eq!(&*keys.keys[0].key, plain.as_bytes());
                for PermitKey { key, .. } in keys.keys {
                    let shown = key.escape_ascii().to_string();
                    assert_eq!(slot_of(&key), slot_of(plain.as_bytes()), "{shown}");
                    seen.push(key);
                }
            }
        }
        let all = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }

    #[test]
    fn the_order_follows_from_the_token_and_has_every_permit_once() {
        let keys = keys("r", 256, "");
        let (one, two) = (token(), token());
        let mut first = order(&keys, &[], &one);
        assert_eq!(first, order(&keys, &[], &one));
        assert_ne!(first, order(&keys, &[], &two));
        first.sort_unstable();
        assert!(first.into_iter().eq(0..256));
    }

    #[test]
    fn every_permit_is_as_likely_to_be_first_as_any_other() {
        let keys = keys("r", 4, "");
        let mut first = [0; 4];
        let io = IoThread::start().unwrap();
        for _ in 0..4000 {
            let token = OwnerToken::draw("web/1", &*io.environment().entropy);
            first[usize::from(order(&keys, &[], &token)[0])] += 1;
        }
        // 1000 each, with a standard deviation of 27.
        assert!(
            first.iter().all(|count| (800..1200).contains(count)),
            "{first:?}"
        );
    }

    #[test]
    fn preferred_permits_come_first() {
        let keys = keys("r", 8, "");
        let mut order = order(&keys, &[1, 6], &token());
        order[..2].sort_unstable();
        assert_eq!(order[..2], [1, 6]);
    }

    #[test]
    fn free_is_what_a_majority_of_all_nodes_calls_free() {
        let report = |free: &[u16]| {
            Arc::new(PermitReport {
                free: free.iter().copied().collect(),
                ..PermitReport::default()
            })
        };
        let free = |reports: &[_], configured| {
            let free = free_at_majority(reports, configured);
            free.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(free(&[report(&[0, 1, 2]), report(&[2, 3])], 3), [2]);
        assert_eq!(
            free(&[report(&[0, 1]), report(&[0, 1]), report(&[1])], 5),
            [1]
        );
        assert!(free(&[report(&[0, 1])], 3).is_empty());
    }
}
