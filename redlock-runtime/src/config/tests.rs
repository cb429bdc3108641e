//! The keys, the guide's table of them, and both ways to say them.

use std::collections::BTreeSet;

use super::keys::{SECTIONS, Section};
use super::layer::{OF_A_SITE, PARAMETERS};
use super::*;

/// A value that is not the default, as TOML and as a variable.
fn sample(key: &str) -> (&'static str, &'static str) {
    match key {
        "url" => ("'redis://h:7'", "redis://h:7"),
        "vetting" => ("'warn'", "warn"),
        "trust_aof" | "fencing" | "release_on_exit" => ("true", "true"),
        "restart_check" => ("'strict'", "strict"),
        "default_pools" | "pools" => ("['a', 'b']", "a, b"),
        "key_prefix" => ("'shop:'", "shop:"),
        "wait" => ("'forever'", "forever"),
        "max_hold" => ("'unlimited'", "unlimited"),
        "clock_drift_factor" => ("0.02", "0.02"),
        "min_validity" => ("0.66", "0.66"),
        "on_lost" => ("'continue'", "continue"),
        "counts" => ("'every'", "every"),
        "mode" => ("'read'", "read"),
        "retry_count" | "permits" | "handovers" | "max_callers_per_lock" | "max_callers" => {
            ("7", "7")
        }
        "contended_status" => ("409", "409"),
        _ => ("'1m 5s'", "1m 5s"),
    }
}

fn of_file(section: Section, key: &str) -> Config {
    let (value, _) = sample(key);
    let table = match section {
        Section::Top => String::new(),
        Section::Table(name) => format!("[{name}]"),
        Section::Each("pools") => "[pools.a]".to_owned(),
        Section::Each(name) => format!("[{name}.\"A::B\"]"),
    };
    // A pool of the file has a URL.
    let url = match (section, key) {
        (Section::Each("pools"), "url") | (Section::Top | Section::Table(_), _) => "",
        (Section::Each("pools"), _) => "url = 'redis://h:7'",
        (Section::Each(_), _) => "",
    };
    Config::from_toml(&format!("{table}\n{url}\n{key} = {value}\n")).unwrap()
}

fn of_variable(section: Section, key: &str) -> Config {
    let (_, value) = sample(key);
    let of_all = section.variable(key);
    let name = of_all.replace("<NAME>", "A").replace("<SITE>", "A__B");
    let mut variables = vec![(name, value)];
    if section == Section::Each("pools") && key != "url" {
        variables.push(("REDLOCK_POOLS_A_URL".to_owned(), "redis://h:7"));
    }
    let mut config = Config::new().with_env(variables).unwrap();
    // What only the list of sites can tell: which site is meant.
    if let Some(site) = config.sites.spelled.remove("A__B") {
        config = config.site("A::B", site);
    }
    config
}

#[test]
fn every_key_says_the_same_in_the_file_and_as_a_variable() {
    let unset = format!("{:?}", Config::new());
    let mut seen = BTreeSet::new();
    for (section, keys) in SECTIONS {
        for key in keys {
            let (file, variable) = (of_file(section, key), of_variable(section, key));
            let file = format!("{file:?}");
            assert_eq!(file, format!("{variable:?}"), "{section:?} {key}");
            assert_ne!(file, unset, "{section:?} {key}");
            assert!(
                seen.insert(file),
                "{section:?} {key} says what another key says"
            );
        }
    }
}

#[test]
fn no_key_is_the_end_of_another_one() {
    // A variable's name could be split in two ways otherwise.
    for keys in [OF_A_SITE, &keys::OF_A_POOL] {
        for key in keys {
            let end = format!("_{key}");
            assert!(!keys.iter().any(|other| other.ends_with(&end)), "{key}");
        }
    }
    // And what a site has is what locks have, with its pools.
    assert_eq!(OF_A_SITE[0], "pools");
    assert_eq!(OF_A_SITE[1..], *PARAMETERS);
}

/// `(key as the guide's table has it, variable)`; the names of pools and sites as `<…>`.
fn documented() -> BTreeSet<(String, String)> {
    let page = include_str!("../../guide/reference/configuration.md");
    let table = page
        .lines()
        .skip_while(|line| !line.starts_with("| `redlock.toml`"));
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    let quoted = |cell: &str| -> Vec<String> {
        let parts = cell.split('`').skip(1).step_by(2);
        parts.map(str::to_owned).collect()
    };
    let mut all = BTreeSet::new();
    for row in rows {
        let cells: Vec<_> = row.split('|').map(quoted).collect();
        let (mut keys, variables) = (cells[1].clone(), &cells[2]);
        if keys.is_empty() {
            assert_eq!(variables[0], "REDLOCK_CONFIG", "{row}");
            continue;
        }
        let section = if keys[0].starts_with('[') {
            keys.remove(0)
        } else {
            String::new()
        };
        let pattern = variables[0].replace("_POOLS_A_", "_POOLS_<NAME>_");
        for key in keys {
            // One row for all parameters of a site.
            let variable = pattern.replace("<PARAMETER>", &key.to_ascii_uppercase());
            let section = match &*section {
                "" => String::new(),
                it if it.starts_with("[pools.") => "[pools.<>]".to_owned(),
                it if it.starts_with("[sites.") => "[sites.<>]".to_owned(),
                it => it.to_owned(),
            };
            all.insert((format!("{section}{key}"), variable));
        }
    }
    all
}

#[test]
fn the_guide_has_every_key_and_no_other() {
    let known: BTreeSet<_> = SECTIONS
        .iter()
        .flat_map(|(section, keys)| {
            let table = match section {
                Section::Top => String::new(),
                Section::Table(name) => format!("[{name}]"),
                Section::Each(name) => format!("[{name}.<>]"),
            };
            let variable = |key: &&str| section.variable(key);
            let of = move |key: &&str| (format!("{table}{key}"), variable(key));
            keys.iter().map(of).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(documented(), known);
}

#[test]
fn an_unknown_key_is_refused_with_what_was_meant() {
    for (text, expected) in [
        (
            "\n[defaults]\ntll = 3",
            "line 3: unknown key `tll` in `[defaults]`; did you mean `ttl`?",
        ),
        (
            "[pools.a]\nurl = 'memory://a'\nvettting = 'warn'",
            "line 3: unknown key `vettting` in `[pools.a]`; did you mean `vetting`?",
        ),
        (
            "[sites.'shop::charge']\nretries_count = 1",
            "line 2: unknown key `retries_count` in `[sites.\"shop::charge\"]`; did you mean \
             `retry_count`?",
        ),
        (
            "default_pool = ['a']",
            "line 1: unknown key `default_pool`; did you mean `default_pools`?",
        ),
        (
            "[default]\nttl = 3",
            "line 1: unknown key `default`; did you mean `defaults`?",
        ),
        (
            "ttl = 3",
            "line 1: unknown key `ttl`; it belongs in `[defaults]`",
        ),
        (
            "[defaults]\ngrace = 3",
            "line 2: unknown key `grace` in `[defaults]`; it belongs in `[shutdown]`",
        ),
        ("[http]\nmax_ttl = 3", "it belongs above all tables"),
        (
            "[defaults]\nurl = 'x'",
            "it belongs in the table of one of the pools",
        ),
        (
            "[defaults]\npools = ['a']",
            "are `default_pools`, above the tables",
        ),
        ("[sites.x]\nnote = 'x'", "only the attribute can say it"),
        (
            "[defaults]\ntimeout = '5s'",
            "unknown key `timeout` in `[defaults]`; did you mean `wait`, how long a caller waits",
        ),
        (
            "timeout = '5s'",
            "did you mean `node_timeout`, for an answer of a node, or `connect_timeout`?",
        ),
        (
            "[shutdown]\ntimeout = 5",
            "did you mean `grace` or `deadline`?",
        ),
        (
            "[sites.x]\nlease = '5s'",
            "did you mean `ttl`, how long the lock lives, or `max_hold`",
        ),
        (
            "[sites.x]\nkey = 'order'",
            "did you mean `resource`? Only the attribute can say it",
        ),
        ("prefix = 'shop:'", "did you mean `key_prefix`?"),
        (
            "[shutdown]\nxyz = 1",
            "there are `grace`, `deadline`, `release_on_exit`",
        ),
        (
            "[http]\nfoo = 1\n[shutdown]\ngrice = 2",
            "line 2: unknown key `foo` in `[http]`; there are `contended_status`; line 4: unknown \
             key `grice` in `[shutdown]`; did you mean `grace`?",
        ),
    ] {
        let error = Config::from_toml(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

#[test]
fn an_unknown_variable_is_refused_with_what_was_meant() {
    for (name, expected) in [
        (
            "REDLOCK_DEFAULTS_TLL",
            "did you mean `REDLOCK_DEFAULTS_TTL`?",
        ),
        (
            "REDLOCK_DEFAULT_TTL",
            "did you mean `REDLOCK_DEFAULTS_TTL`?",
        ),
        ("REDLOCK_MAXTTL", "did you mean `REDLOCK_MAX_TTL`?"),
        (
            "REDLOCK_POOLS_EU_WEST_URI",
            "did you mean `REDLOCK_POOLS_EU_WEST_URL`?",
        ),
        (
            "REDLOCK_POOLS_A_TRUST_AFO",
            "did you mean `REDLOCK_POOLS_A_TRUST_AOF`?",
        ),
        (
            "REDLOCK_POOLS_A",
            "end in URL, PASSWORD_FILE, VETTING, TRUST_AOF",
        ),
        (
            "REDLOCK_SITES_SHOP__CHARGE_RETRY_COUTN",
            "did you mean `REDLOCK_SITES_SHOP__CHARGE_RETRY_COUNT`?",
        ),
        ("REDLOCK_SITES_TTL", "end in POOLS, TTL,"),
    ] {
        let error = Config::new()
            .with_env([(name, "1")])
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(&format!(
                "redlock's configuration: {name}: there is no such variable"
            )) && error.contains(expected),
            "{name}\n{error}"
        );
    }
}

#[test]
fn two_answers_to_one_question_are_refused_also_of_a_site() {
    for (text, expected) in [
        (
            "\n[sites.'a::b']\nwait = '1s'\nretry_count = 2",
            "line 2: `[sites.\"a::b\"]` has both",
        ),
        (
            "[defaults]\nretry_count = 2\nwait = 3",
            "line 3: `[defaults]` has both",
        ),
    ] {
        let error = Config::from_toml(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let variables = [
        ("REDLOCK_SITES_A__B_WAIT", "1s"),
        ("REDLOCK_SITES_A__B_RETRY_COUNT", "2"),
    ];
    let error = Config::new().with_env(variables).unwrap_err().to_string();
    assert!(
        error.contains("REDLOCK_SITES_A__B_RETRY_COUNT answer"),
        "{error}"
    );
}

#[test]
fn nothing_that_was_written_as_a_value_is_repeated() {
    for value in [
        "'s3cret'",
        "['s3cret']",
        "{ s3cret = 1 }",
        "'redis://u:s3cret@h'",
        "'1m s3cret, expected s3cret'",
        "s3cret",
        "\"s3cret",
    ] {
        for (section, keys) in SECTIONS {
            for key in keys.iter().filter(|key| **key != "key_prefix") {
                let table = match section {
                    Section::Top => String::new(),
                    Section::Table(name) => format!("[{name}]"),
                    Section::Each(name) => format!("[{name}.a]\n"),
                };
                let text = format!("{table}\n{key} = {value}");
                let shown = match Config::from_toml(&text) {
                    Ok(config) => format!("{config:?}"),
                    Err(error) => format!("{error} {error:?}"),
                };
                let is_a_list_of_names = key.ends_with("pools") && value.starts_with('[');
                assert!(
                    is_a_list_of_names || !shown.contains("s3cret"),
                    "{text}\n{shown}"
                );

                let name = section
                    .variable(key)
                    .replace("<NAME>", "A")
                    .replace("<SITE>", "A");
                let is_a_list_of_names = key.ends_with("pools");
                let shown = match Config::new().with_env([(name, value)]) {
                    Ok(config) => format!("{config:?}"),
                    Err(error) => format!("{error} {error:?}"),
                };
                assert!(
                    is_a_list_of_names || !shown.contains("s3cret"),
                    "{key} {value}\n{shown}"
                );
            }
        }
    }
    // A table in the place of a value, and the other way round.
    for text in [
        "pools = 's3cret'",
        "[pools]\na = 's3cret'",
        "defaults = ['s3cret']",
    ] {
        let error = Config::from_toml(text).unwrap_err().to_string();
        assert!(
            error.contains("line ") && !error.contains("s3cret"),
            "{error}"
        );
    }
}
