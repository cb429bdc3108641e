//! Names of resources, on a real server, byte by byte.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use redlock_runtime::parameters::LockOptions;
use redlock_runtime::{Config, Lease, LockError, Redlock, Resource, lock, redlock};
use redlock_tests::Nodes;

use crate::captured;
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
        2 => (text(), vec(any::<u8>(), 0..20)).prop_map(|(text, mut bytes)| {
            bytes.extend_from_slice(text.as_bytes());
            bytes
        }),
        2 => (vec(any::<u8>(), 1..5), 1_usize..1100).prop_map(|(some, length)| {
            some.into_iter().cycle().take(length).collect()
        }),
    ]
}

/// Whether a lock may have this name under this prefix.
fn is_good(prefix: &str, name: &[u8]) -> bool {
    let key = [prefix.as_bytes(), name].concat();
    let ends = |end: &&str| key.ends_with(end.as_bytes());
    // Under another key prefix this key is one of the library's own keys.
    let is_anothers = ["redlock:marker", "redlock:permissions", "redlock:flush"]
        .iter()
        .any(ends)
        || key.windows(14).any(|part| part == b"redlock:fence:")
        || key.windows(13).any(|part| part == b"redlock:once:")
        || key.windows(15).any(|part| part == b"redlock:permit:")
        || key.windows(16).any(|part| part == b"redlock:permits:")
        || key.windows(16).any(|part| part == b"redlock:readers:")
        || key.windows(15).any(|part| part == b"redlock:intent:")
        || key.windows(13).any(|part| part == b"redlock:turn:");
    (1..=LONGEST).contains(&name.len()) && !name.starts_with(b"redlock:") && !is_anothers
}

/// A batch is held all at once, so that the server can be asked for all of its keys.
const BATCH: u32 = 250;

/// However long it takes to lock a batch, the first one of it is still held at the end.
const TTL: Duration = Duration::from_secs(60 * 60);

async fn start(prefix: &str) -> (Nodes, Redlock) {
    let nodes = Nodes::start(1).await;
    let config = Config::new()
        .pool("a", &*nodes.urls()[0])
        .node_timeout(SOON)
        .connect_timeout(SOON)
        .max_ttl(TTL)
        .defaults(LockOptions::new().ttl(TTL).retry_count(0))
        .key_prefix(prefix);
    (nodes, Redlock::start(config).await.unwrap())
}

/// The keys of locks, sorted; the counters of fencing tokens stay behind them.
fn keys(nodes: &Nodes, prefix: &str) -> BTreeSet<Vec<u8>> {
    let reserved = [prefix.as_bytes(), b"redlock:"].concat();
    let keys = nodes.all_keys().into_iter();
    keys.filter(|key| !key.starts_with(&reserved)).collect()
}

/// Acquires the names of one batch; those that no lock may have are refused with a reason.
async fn acquire(prefix: &str, batch: &BTreeSet<Vec<u8>>) -> BTreeMap<Vec<u8>, Lease> {
    let mut leases = BTreeMap::new();
    for (index, name) in batch.iter().enumerate() {
        let fenced = index % 8 == 0;
        match lock(name.clone()).fencing(fenced).acquire().await {
            Ok(lease) => {
                assert!(is_good(prefix, name), "{name:?} was locked");
                assert_eq!(lease.resource(), &Resource::from(name.clone()));
                assert_eq!(lease.fencing_token().is_some(), fenced);
                leases.insert(name.clone(), lease);
            }
            Err(error) => {
                let is_refused = error.is_invalid() && !is_good(prefix, name);
                assert!(is_refused, "{name:?}: {error}");
                assert_is_clear(&error.to_string());
                assert_is_clear(&format!("{error:?}"));
            }
        }
    }
    leases
}

async fn works_for(prefix: &str, all: impl Iterator<Item = BTreeSet<Vec<u8>>>) {
    let (nodes, redlock) = start(prefix).await;
    let registry = redlock.registry().clone();
    let mut random_parts = BTreeSet::new();
    let mut good = 0;
    for batch in all {
        let leases = registry.clone().scope(acquire(prefix, &batch)).await;
        good += leases.len();
        let expected: BTreeSet<_> = leases
            .keys()
            .map(|name| [prefix.as_bytes(), name].concat())
            .collect();
        assert_eq!(keys(&nodes, prefix), expected);
        // The secret of each of some: what the server has as its value.
        for name in expected.iter().take(10) {
            let token = nodes[0].get(name).expect("it is held");
            let token = String::from_utf8(token).expect("the token is text");
            random_parts.insert(token.rsplit('/').next().unwrap().to_owned());
        }
        let held = format!("{:?}", registry.held());
        for (name, lease) in leases {
            let shown = format!("{lease:?} {}", lease.resource());
            assert!(!shown.chars().any(char::is_control), "{name:?}: {shown:?}");
            assert!(
                !random_parts.iter().any(|part| shown.contains(part)),
                "{shown}"
            );
            lease.release().await;
        }
        assert!(
            !random_parts.iter().any(|part| held.contains(part)),
            "{held}"
        );
        assert_eq!(keys(&nodes, prefix), BTreeSet::new());
    }
    redlock.shutdown().await;
    eprintln!("{good} names were locked");
    assert!(good > 100, "the names are too bad to test much");
    let text = captured::text();
    assert!(
        text.contains(&random_parts.first().unwrap()[..6]),
        "its short form is logged"
    );
    let hex = text.split(|c: char| !c.is_ascii_hexdigit());
    let logged: BTreeSet<_> = hex.filter(|run| run.len() >= 32).collect();
    for part in &random_parts {
        assert!(
            !logged.iter().any(|run| run.contains(&**part)),
            "an owner token was logged"
        );
    }
}

fn batches(cases: u32) -> impl Iterator<Item = BTreeSet<Vec<u8>>> {
    let mut runner = runner(cases);
    (0..cases / BATCH).map(move |_| {
        let names = (0..BATCH).map(|_| names().new_tree(&mut runner).unwrap().current());
        names.collect()
    })
}

#[tokio::test]
async fn ten_thousand_names_are_keys_to_the_byte_or_refused() {
    captured::begin();
    works_for("", batches(cases())).await;
}

#[tokio::test]
async fn a_prefix_may_be_as_strange_as_a_name() {
    captured::begin();
    for prefix in ["{", "}*\r\n", "\0'\"", "redlock:", "{tag}:"] {
        works_for(prefix, batches(2 * BATCH)).await;
    }
}

#[redlock(resource = "x:{name}:y", guard = lease)]
async fn by_template(name: &str) -> Result<Vec<u8>, LockError> {
    let name = lease.resource().names().next().expect("one name");
    Ok(name.to_vec())
}

#[tokio::test]
async fn a_template_takes_strange_text_as_it_is() {
    captured::begin();
    let (nodes, redlock) = start("").await;
    let registry = redlock.registry().clone();
    for text in TEXTS {
        let expected = format!("x:{text}:y").into_bytes();
        match registry.clone().scope(by_template(text)).await {
            Ok(name) => assert_eq!(name, expected),
            Err(error) => {
                assert!(error.is_invalid() && !is_good("", &expected), "{error}");
            }
        }
    }
    let long = "x".repeat(1 << 20);
    let refused = registry
        .clone()
        .scope(by_template(&long))
        .await
        .unwrap_err();
    assert!(refused.is_invalid(), "{refused}");
    assert_is_clear(&refused.to_string());
    nodes.assert_no_lock_keys(SOON).await;
}
