//! Permits: at most n holders of one resource, each by a majority.
#![doc = include_str!("permits.md")]

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher as _;
use std::io::Write as _;
use std::sync::Arc;

use crate::model::kind::Permits;
use crate::model::permits::{CountRecord, PermitReport, PermitSet};
use crate::model::resource::{COUNTERS, PERMIT_COUNTS, PERMITS, Resource};
use crate::model::token::OwnerToken;
use crate::node::hash_slot::{key_beside, keys_beside};
use crate::node::{Answer, PermitKey, PermitOrder};

use super::majority;

/// The keys of all permits of a resource. They are made once for an acquisition with all its attempts.
pub(crate) struct PermitKeys {
    /// By the permit's number.
    keys: Vec<PermitKey>,
    all: Resource,
    count_key: Arc<[u8]>,
}

/// Permits that an attempt asks for ahead of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preferred {
    /// Callers of this process released these since the last attempt.
    pub(crate) released: PermitSet,
    /// A majority called these free.
    pub(crate) free: PermitSet,
}

impl PermitKeys {
    /// The keys of `permits` of the lock key `key`, with `prefix`.
    pub(crate) fn new(key: &Resource, permits: Permits, prefix: &[u8], is_fenced: bool) -> Self {
        let plain = key.names().next().unwrap_or_default();
        let keys: Vec<_> = (0..permits.count())
            .map(|permit| {
                let key = name_of(plain, permit, prefix);
                let counter = is_fenced.then(|| key_beside(&key, prefix, COUNTERS).into());
                PermitKey {
                    permit,
                    key: key.into(),
                    counter,
                }
            })
            .collect();
        let all = Resource::of(keys.iter().map(|key| Arc::clone(&key.key)).collect());
        Self {
            keys,
            all,
            count_key: only(&count_key(key, prefix)),
        }
    }

    /// The keys of all permits.
    pub(crate) fn all(&self) -> &Resource {
        &self.all
    }

    /// The keys of some permits.
    pub(crate) fn of(&self, permits: PermitSet) -> Resource {
        let keys = self.keys.iter().filter(|key| permits.contains(key.permit));
        Resource::of(keys.map(|key| Arc::clone(&key.key)).collect())
    }

    /// The keys of the other permits.
    pub(crate) fn all_but(&self, permits: PermitSet) -> Resource {
        self.all.without(&self.of(permits))
    }

    /// The fencing counters of some permits, if there are any.
    pub(crate) fn counters_of(&self, permits: PermitSet) -> Option<Resource> {
        let keys = self.keys.iter().filter(|key| permits.contains(key.permit));
        let counters: Option<Vec<_>> = keys.map(|key| key.counter.clone()).collect();
        counters.map(Resource::of)
    }

    /// The keys of each permit, by its number.
    pub(crate) fn each(&self) -> impl Iterator<Item = Resource> {
        self.keys
            .iter()
            .map(|key| Resource::of(vec![Arc::clone(&key.key)]))
    }

    /// The order in which every node tries the permits: the preferred ones first, and the others in an order
    /// that follows from `token`. Attempts at one moment therefore begin with different permits.
    pub(crate) fn order(&self, take: u16, preferred: Preferred, token: &OwnerToken) -> PermitOrder {
        let mut keys = self.keys.clone();
        let mut draw = Draw::of(token);
        for left in (1..keys.len()).rev() {
            keys.swap(left, draw.below(left + 1));
        }
        keys.sort_by_key(|key| match key.permit {
            permit if preferred.released.contains(permit) => 0,
            permit if preferred.free.contains(permit) => 1,
            _ => 2,
        });
        PermitOrder::new(keys, take, Arc::clone(&self.count_key))
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

/// The key that says how many permits there are.
pub(crate) fn count_key(key: &Resource, prefix: &[u8]) -> Resource {
    keys_beside(key, prefix, PERMIT_COUNTS)
}

fn only(key: &Resource) -> Arc<[u8]> {
    key.names().next().unwrap_or_default().into()
}

/// Numbers that follow from a token: all nodes of an attempt get the same order, and two attempts rarely
/// do. (The generator `SplitMix64`.)
struct Draw(u64);

impl Draw {
    fn of(token: &OwnerToken) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(token.as_bytes());
        Self(hasher.finish())
    }

    /// A number below `bound`, nearly evenly: the bound is 256 at most.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        usize::try_from(mixed % bound as u64).unwrap_or_default()
    }
}

/// The permits that a majority of the `configured` nodes calls free. What a node granted to this attempt
/// was free there.
pub(crate) fn free_at_majority(reports: &[Arc<PermitReport>], configured: usize) -> PermitSet {
    let needed = majority(configured);
    let is_free = |permit: &u16| {
        let calling = reports
            .iter()
            .filter(|report| report.free.contains(*permit));
        calling.count() >= needed
    };
    let any = reports
        .iter()
        .fold(PermitSet::default(), |any, report| any.and(report.free));
    any.iter().filter(is_free).collect()
}

/// Another number of permits, which a node remembers.
pub(crate) fn other_count(reports: &[Arc<PermitReport>]) -> Option<CountRecord> {
    reports.iter().find_map(|report| report.other_count.clone())
}

/// The number of nodes that have too few free permits. A node that granted others than the rest has enough.
pub(crate) fn refusing(answers: &[Option<Answer>]) -> usize {
    let refuses = |answer: &&Option<Answer>| match answer {
        Some(Answer::Held(holding)) => {
            let report = holding.permits.as_ref();
            report.is_none_or(|report| report.taken.is_empty())
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
        PermitKeys::new(
            &key,
            Permits::new(count, 1).unwrap(),
            prefix.as_bytes(),
            true,
        )
    }

    fn order(keys: &PermitKeys, preferred: Preferred, token: &OwnerToken) -> Vec<u16> {
        let order = keys.order(1, preferred, token);
        order.keys().iter().map(|key| key.permit).collect()
    }

    #[test]
    fn permits_and_their_counters_are_in_the_slot_of_the_lock_and_no_two_are_one() {
        let mut seen = Vec::new();
        for prefix in ["", "shop:", "{shop}:"] {
            for name in ["order:42", "{order}:42", "a{b}c", "x{"] {
                let keys = keys(name, 3, prefix);
                let plain = format!("{prefix}{name}");
                assert_eq!(&*keys.keys[0].key, plain.as_bytes());
                for key in &keys.keys {
                    let counter = key.counter.clone().unwrap();
                    for key in [Arc::clone(&key.key), counter, Arc::clone(&keys.count_key)] {
                        assert_eq!(
                            slot_of(&key),
                            slot_of(plain.as_bytes()),
                            "{}",
                            key.escape_ascii()
                        );
                        seen.push(key);
                    }
                }
            }
        }
        let all = seen.len();
        seen.sort();
        seen.dedup();
        // Each resource has one count for its three permits.
        assert_eq!(seen.len(), all - 2 * 12);
    }

    #[test]
    fn the_order_follows_from_the_token_and_has_every_permit_once() {
        let keys = keys("r", 256, "");
        let (one, two) = (token(), token());
        let first = order(&keys, Preferred::default(), &one);
        assert_eq!(first, order(&keys, Preferred::default(), &one));
        assert_ne!(first, order(&keys, Preferred::default(), &two));
        let set: PermitSet = first.iter().copied().collect();
        assert_eq!((set, first.len()), (PermitSet::below(256), 256));
    }

    #[test]
    fn every_permit_is_as_likely_to_be_first_as_any_other() {
        let keys = keys("r", 4, "");
        let mut first = [0; 4];
        let io = IoThread::start().unwrap();
        for _ in 0..4000 {
            let token = OwnerToken::draw("web/1", &*io.environment().entropy);
            first[usize::from(order(&keys, Preferred::default(), &token)[0])] += 1;
        }
        // 1000 each, with a standard deviation of 27.
        assert!(
            first.iter().all(|count| (800..1200).contains(count)),
            "{first:?}"
        );
    }

    #[test]
    fn what_was_released_here_comes_first_and_then_what_a_majority_calls_free() {
        let keys = keys("r", 8, "");
        let preferred = Preferred {
            released: [6].into_iter().collect(),
            free: [1, 6, 3].into_iter().collect(),
        };
        let mut order = order(&keys, preferred, &token());
        assert_eq!(order[0], 6);
        order[1..3].sort_unstable();
        assert_eq!(order[1..3], [1, 3]);
    }

    #[test]
    fn free_is_what_a_majority_of_all_nodes_calls_free() {
        let report = |free: &[u16]| {
            Arc::new(PermitReport {
                free: free.iter().copied().collect(),
                ..PermitReport::default()
            })
        };
        let free = |reports: &[_], configured| free_at_majority(reports, configured).to_string();
        assert_eq!(free(&[report(&[0, 1, 2]), report(&[2, 3])], 3), "2");
        assert_eq!(
            free(&[report(&[0, 1]), report(&[0, 1]), report(&[1])], 5),
            "1"
        );
        assert_eq!(free(&[report(&[0, 1])], 3), "");
    }

    #[test]
    fn the_rest_is_every_permit_but_those_that_were_won() {
        let keys = keys("r", 4, "");
        let won = [0, 2].into_iter().collect();
        let names = |resource: Resource| {
            let names = resource
                .names()
                .map(|name| String::from_utf8(name.to_vec()).unwrap());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(keys.of(won)), ["r", "redlock:permit:2:{r}"]);
        assert_eq!(
            names(keys.all_but(won)),
            ["redlock:permit:1:{r}", "redlock:permit:3:{r}"]
        );
        let counters = names(keys.counters_of(won).unwrap());
        assert_eq!(
            counters,
            ["redlock:fence::redlock:permit:2:{r}", "redlock:fence:{r}"]
        );
    }
}
