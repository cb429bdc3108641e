//! Names of resources, on a real server, byte by byte.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use redlock_runtime::parameters::LockOptions;
use redlock_runtime::{Config, Lease, Redlock, lock};
use redlock_tests::Nodes;

use crate::strange::TEXTS;
use crate::{SOON, assert_is_clear, cases, runner};

/// What a name may have at most.
const LONGEST: usize = 1024;

/// Strange names, some of them too long, reserved or empty.
fn names() -> impl Strategy<Value = Vec<u8>> {
    let text = || prop::sample::select(&TEXTS[..]);
    prop_oneof![
        8 => vec(any::<u8>(), 1..40),
        4 => (text(), text(), text()).prop_map(|(a, b, c)| [a, b, c].concat().into_bytes()),
        4 => ".{1,60}".prop_map(String::into_bytes),
        2 => (vec(any::<u8>(), 1..5), 1_usize..1100).prop_map(|(some, length)| {
            some.into_iter().cycle().take(length).collect()
        }),
    ]
}

/// A batch is held all at once, so that the server can be asked for all of its keys.
const BATCH: u32 = 250;

/// However long it takes to lock a batch, the first one of it is still held at the end.
const TTL: Duration = Duration::from_secs(60 * 60);

/// The keys of locks. The counters of fencing tokens stay behind them.
fn keys(nodes: &Nodes, prefix: &str) -> BTreeSet<Vec<u8>> {
    let reserved = [prefix.as_bytes(), b"redlock:"].concat();
    let keys = nodes.all_keys().into_iter();
    keys.filter(|key| !key.starts_with(&reserved)).collect()
}

/// Acquires the names of one batch, by their keys. Those that no lock may have are refused with a reason.
async fn acquire(prefix: &str, batch: &BTreeSet<Vec<u8>>) -> BTreeMap<Vec<u8>, Lease> {
    let mut leases = BTreeMap::new();
    for (index, name) in batch.iter().enumerate() {
        let key = [prefix.as_bytes(), name].concat();
        let has_length = (1..=LONGEST).contains(&name.len());
        let options = LockOptions::new().fencing(index % 8 == 0);
        match lock(name.clone()).options(options).acquire().await {
            Ok(lease) => {
                let is_good = has_length && !name.starts_with(b"redlock:");
                assert!(is_good, "{name:?} was locked");
                let shown = format!("{lease:?} {}", lease.resource());
                assert!(!shown.chars().any(char::is_control), "{name:?}: {shown:?}");
                leases.insert(key, lease);
            }
            Err(error) => {
                // Under another key prefix it may be a key of the library's own.
                let is_own = key.windows(8).any(|part| part == b"redlock:");
                assert!(
                    error.is_invalid() && (!has_length || is_own),
                    "{name:?}: {error}"
                );
                assert_is_clear(&error);
            }
        }
    }
    leases
}

async fn work_as_keys(prefix: &str, cases: u32) {
    let nodes = Nodes::start(1).await;
    let config = Config::new()
        .pool("a", &*nodes.urls()[0])
        .node_timeout(SOON)
        .connect_timeout(SOON)
        .max_ttl(TTL)
        .defaults(LockOptions::new().ttl(TTL).retry_count(0))
        .key_prefix(prefix);
    let redlock = Redlock::start(config).await.unwrap();
    let (mut runner, mut good) = (runner(cases), 0);
    for _ in 0..cases / BATCH {
        let names = (0..BATCH).map(|_| names().new_tree(&mut runner).unwrap().current());
        let batch = names.collect();
        let acquire = acquire(prefix, &batch);
        let leases = redlock.registry().clone().scope(acquire).await;
        good += leases.len();
        assert_eq!(keys(&nodes, prefix), leases.keys().cloned().collect());
        for lease in leases.into_values() {
            lease.release().await;
        }
        assert_eq!(keys(&nodes, prefix), BTreeSet::new());
    }
    redlock.shutdown().await;
    assert!(good > 100, "the names are too bad to test much: {good}");
}

#[tokio::test]
async fn ten_thousand_names_are_keys_to_the_byte_or_refused() {
    work_as_keys("", cases()).await;
}

#[tokio::test]
async fn a_prefix_may_be_as_strange_as_a_name() {
    for prefix in ["{", "}*\r\n", "\0'\"", "redlock:", "{tag}:"] {
        work_as_keys(prefix, 2 * BATCH).await;
    }
}
