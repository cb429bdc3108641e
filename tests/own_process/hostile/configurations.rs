//! Files and variables.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use proptest::collection::vec;
use proptest::prelude::*;
use redlock_runtime::testing::check_config;
use redlock_runtime::{Config, Redlock, lock};
use redlock_tests::{TempDir, lines};

use crate::strange::{name, quoted, url, value};
use crate::{assert_is_clear, assert_log_without_secret, assert_without_secret, cases, runner};

/// Keys of each table, and some that there are not. No test compares them with the tables of keys.
const KEYS: [(&str, &str); 8] = [
    (
        "",
        "restart_check default_pools key_prefix max_ttl node_timeout connect_timeout unknown",
    ),
    (
        "pools",
        "url url url vetting trust_aof replicas tls_ca tls_cert tls_key urll",
    ),
    ("defaults", PARAMETERS),
    ("sites", PARAMETERS),
    ("waiting", "handover_time max_waiters_per_lock max_waiters"),
    ("shutdown", "grace deadline grice"),
    ("http", "contended_status content_status"),
    ("pool", "url"),
];

const PARAMETERS: &str = "ttl retry_count wait retry_delay clock_drift_factor min_validity max_hold \
    once_per remember permits fencing kind on_lost pools if_locked tll";

/// Whose values are names, of files too, which are shown.
const OF_NAMES: &str = "default_pools pools key_prefix tls_ca tls_cert tls_key";

/// `(table, name of a pool or a site, key, value)`
type Said = (&'static str, String, &'static str, String);

fn said() -> impl Strategy<Value = Said> {
    let key = prop::sample::select(&KEYS[..]).prop_flat_map(|(table, keys)| {
        let keys: Vec<_> = keys.split(' ').collect();
        (Just(table), prop::sample::select(keys))
    });
    (key, name(), name(), url(), value()).prop_map(|((table, key), of, named, url, value)| {
        let value = match key {
            "url" => url,
            key if OF_NAMES.split(' ').any(|it| it == key) => named,
            _ => value,
        };
        (table, of, key, value)
    })
}

/// A configuration that is mostly sane, so that some get as far as a running registry.
fn configuration() -> impl Strategy<Value = Vec<Said>> {
    let pools = vec((prop::sample::select(&["a", "b", "c"][..]), url()), 0..3);
    (pools, vec(said(), 0..4)).prop_map(|(pools, mut all)| {
        let pools = pools.into_iter();
        all.extend(pools.map(|(name, url)| ("pools", name.to_owned(), "url", url)));
        all
    })
}

/// As a file. Strings where a list is meant, numbers, and lists of lists come by themselves.
fn toml(all: &[Said], twist: u8) -> String {
    let mut lines = BTreeMap::new();
    for (table, of, key, value) in all {
        let path = match *table {
            "" => (*key).to_owned(),
            "pools" | "sites" => format!("{table}.{}.{key}", quoted(of)),
            table => format!("{table}.{key}"),
        };
        let is_plain = value.parse::<f64>().is_ok() || ["true", "false"].contains(&&**value);
        let written = match twist {
            0..=99 if is_plain => value.clone(),
            100 => format!("[{}]", quoted(value)),
            101 => format!("{{ a = {} }}", quoted(value)),
            // Not TOML at all.
            102 => value.clone(),
            103 => format!("\"{value}"),
            _ if key.ends_with("pools") => format!("[{}]", quoted(value)),
            _ => quoted(value),
        };
        lines.insert(path, written);
    }
    let lines = lines
        .iter()
        .map(|(path, value)| format!("{path} = {value}\n"));
    lines.collect()
}

/// As variables.
fn variables(all: &[Said], twist: u8) -> Vec<(OsString, OsString)> {
    let variable = |(table, of, key, value): &Said| {
        let of: String = of.chars().take(200).filter(|c| *c != '\0').collect();
        let name = match *table {
            "" => format!("REDLOCK_{key}"),
            "pools" | "sites" => format!("REDLOCK_{table}_{of}_{key}"),
            table => format!("REDLOCK_{table}_{key}"),
        };
        let mut value = value.clone().into_bytes();
        if twist < 20 {
            // Not UTF-8.
            value.push(0xff);
        }
        (name.to_uppercase().into(), OsString::from_vec(value))
    };
    all.iter().map(variable).collect()
}

/// Starts with `config`, which must give clear errors, or a registry that locks. Returns if it started.
async fn is_started(config: Config) -> bool {
    assert_without_secret(&format!("{config:?} {config:#?}"));
    let redlock = match Redlock::start(config).await {
        Ok(redlock) => redlock,
        Err(refused) => {
            refused.problems().iter().for_each(assert_is_clear);
            assert_without_secret(&format!("{refused} {refused:?}"));
            return false;
        }
    };
    let registry = redlock.registry().clone();
    assert_without_secret(&format!("{redlock:?} {registry:?} {:?}", registry.health()));
    // One try, as the nodes of some do not exist.
    let call = lock("r").retry_count(0).acquire();
    match registry.clone().scope(call).await {
        Ok(lease) => {
            assert_without_secret(&format!("{lease:?} {:?}", registry.held()));
            lease.release().await;
        }
        Err(error) => {
            assert!(error.is_unavailable() || error.is_invalid(), "{error}");
            assert_is_clear(&error);
            assert_without_secret(&format!("{:?}", error.kind()));
        }
    }
    let report = redlock.shutdown().await;
    assert_without_secret(&format!("{report} {report:?}"));
    true
}

/// Reads what is drawn, and starts a registry of what could be read.
fn are_clear_errors_or_registries<E: std::error::Error>(
    read: impl Fn(&[Said], u8) -> Result<Config, E>,
) {
    lines();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (good, started) = (Cell::new(0), Cell::new(0));
    let drawn = (configuration(), any::<u8>());
    let result = runner(cases() / 2).run(&drawn, |(all, twist)| {
        match read(&all, twist) {
            Err(error) => assert_is_clear(&error),
            Ok(config) => {
                good.set(good.get() + 1);
                let is_started = runtime.block_on(is_started(config));
                started.set(started.get() + u32::from(is_started));
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|failed| panic!("{failed}"));
    let (good, started) = (good.get(), started.get());
    assert!(
        good > cases() / 20 && started > cases() / 100,
        "the cases are too bad to test much: {good} could be read, {started} registries ran"
    );
    assert_log_without_secret();
}

#[test]
fn a_file_is_a_clear_error_or_a_registry() {
    are_clear_errors_or_registries(|all, twist| Config::from_toml(&toml(all, twist)));
}

#[test]
fn variables_are_a_clear_error_or_a_registry() {
    are_clear_errors_or_registries(|all, twist| {
        let file = Config::from_toml("[pools.EU-West]\nurl = 'memory://west'").unwrap();
        file.with_env(variables(all, twist))
    });
}

#[test]
fn a_text_that_is_no_configuration_is_a_clear_error() {
    let dir = TempDir::new();
    let file = dir.path().join("redlock.toml");
    let drawn = vec(any::<u8>(), 0..200);
    let result = runner(cases() / 10).run(&drawn, |bytes| {
        std::fs::write(&file, &bytes).unwrap();
        if let Err(error) = Config::new().with_file(&file) {
            assert_is_clear(&error);
            assert!(error.to_string().contains("redlock.toml: "), "{error}");
        }
        Ok(())
    });
    result.unwrap_or_else(|failed| panic!("{failed}"));
    let mebi = 1 << 20;
    let lines = |line: fn(u32) -> String| (0..50_000).map(line).collect::<Vec<_>>().join("\n");
    for text in [
        "x".repeat(mebi),
        "[".repeat(mebi),
        "a.".repeat(mebi / 2),
        format!("a = {}", "{a = ".repeat(mebi / 8)),
        lines(|n| format!("key{n} = 1")),
        format!("[defaults]\nttl = '{}s'", "9".repeat(mebi)),
        format!("{} = 1", "k".repeat(mebi)),
    ] {
        assert_is_clear(&Config::from_toml(&text).unwrap_err());
    }
    // Their URLs might come from variables, but do not.
    let pools = Config::from_toml(&lines(|n| format!("[pools.\"{n}\"]"))).unwrap();
    assert_is_clear(&check_config(&pools).unwrap_err());
    // A directory, and paths that do not exist.
    for path in ["/", "/nowhere/\n\u{1b}[31m/redlock.toml", "\0"] {
        assert_is_clear(&Config::new().with_file(path).unwrap_err());
    }
}
