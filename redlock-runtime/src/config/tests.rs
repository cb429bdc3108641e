//! Tests of the keys in files and variables, and of the errors for mistakes.

mod guide;
mod kinds;

use super::keys::{has_names, sections, variable};
use super::*;

/// Values of all types, as TOML and as a variable. Each key accepts some of them.
const SAMPLES: [(&str, &str); 15] = [
    ("'redis://h:7'", "redis://h:7"),
    ("7", "7"),
    ("409", "409"),
    ("true", "true"),
    ("0.02", "0.02"),
    ("'1m 5s'", "1m 5s"),
    ("'forever'", "forever"),
    ("'unlimited'", "unlimited"),
    ("'strict'", "strict"),
    ("'warn'", "warn"),
    ("'continue'", "continue"),
    ("'every_run'", "every_run"),
    ("'read'", "read"),
    ("'shop:'", "shop:"),
    ("['a', 'b']", "a, b"),
];

/// Returns the table of `section` with one key.
fn table(section: &str, key: &str, value: &str) -> String {
    let table = match section {
        "" => String::new(),
        section if has_names(section) => format!("[{section}.a]"),
        section => format!("[{section}]"),
    };
    format!("{table}\n{key} = {value}\n")
}

#[test]
fn every_key_says_the_same_in_the_file_and_as_a_variable() {
    let mut seen = BTreeMap::new();
    for (section, keys) in sections() {
        let unset = Config::from_toml(&table(section, "", "").replace("\n = ", ""));
        let unset = format!("{:?}", unset.unwrap());
        for key in keys {
            let name = if has_names(section) { "a" } else { "" };
            let mut is_set = false;
            for (toml, text) in SAMPLES {
                let Ok(of_file) = Config::from_toml(&table(section, key, toml)) else {
                    continue;
                };
                let of_file = format!("{of_file:?}");
                // Functions have no variables.
                if section != "sites" {
                    let variable = [(variable(section, name, key), text)];
                    let of_variable = Config::new().with_env(variable).unwrap();
                    assert_eq!(of_file, format!("{of_variable:?}"), "{section} {key}");
                }
                is_set |= of_file != unset;
                let of = seen.entry(of_file).or_insert((section, key));
                assert!(!is_set || *of == (section, key), "{of:?} and {key} are one");
            }
            assert!(is_set, "{section} {key}");
        }
    }
}

#[test]
fn no_key_is_the_end_of_another_one() {
    // A variable's name could be split in two ways otherwise.
    for key in PoolConfig::KEYS {
        let end = format!("_{key}");
        let is_end = |other: &&str| other.ends_with(&end);
        assert!(!PoolConfig::KEYS.iter().any(is_end), "{key}");
    }
}

/// Returns the errors for a file and variables, one for each mistake.
fn mistakes(file: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let mut reader = ConfigReader::over(Config::new());
    reader.read_toml("", file);
    let variables = variables.iter();
    reader.read_variables(variables.map(|(name, value)| (name.into(), value.into())));
    let error = reader.finish_load().unwrap_err().to_string();
    let all = error.strip_prefix("redlock's configuration: ").unwrap();
    all.split("; line ").map(str::to_owned).collect()
}

/// Returns the rows of a table: each with an input, and the expected error.
fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = table.lines().map(str::trim).filter(|row| !row.is_empty());
    rows.map(|row| row.split_once(" => ").expect(row))
}

#[test]
fn an_unknown_key_is_refused_with_what_was_meant() {
    for (line, expected) in rows(
        r#"
        defaults.tll = 3 => line 1: unknown key `tll` in `[defaults]`; did you mean `ttl`?
        sites.'shop::charge'.retries_count = 1 => in `[sites."shop::charge"]`; did you mean `retry_count`?
        default.ttl = 3 => line 1: unknown key `default`; did you mean `defaults`?
        ttl = 3 => line 1: unknown key `ttl`; it belongs in `[defaults]`
        defaults.grace = 3 => line 1: unknown key `grace` in `[defaults]`; it belongs in `[shutdown]`
        http.max_ttl = 3 => it belongs above all tables
        defaults.url = 'x' => it belongs in the table of one of the pools
        defaults.pools = ['a'] => are `default_pools`, above the tables
        sites.x.note = 'x' => only the attribute can say it
        shutdown.xyz = 1 => there are `grace`, `deadline`, `release_on_exit`
        "#,
    ) {
        let error = Config::from_toml(line).unwrap_err().to_string();
        assert!(error.contains(expected), "{line}\n{error}");
    }
}

#[test]
fn an_unknown_variable_is_refused_with_what_was_meant() {
    for (name, expected) in rows(
        "
        REDLOCK_TTL => did you mean `REDLOCK_DEFAULTS_TTL`?
        REDLOCK_URL => did you mean `REDLOCK_POOLS_<NAME>_URL`?
        REDLOCK_POOLS => those of this kind are `REDLOCK_POOLS_<NAME>_…`, and end in URL,
        REDLOCK_POOL_A => those of this kind are `REDLOCK_POOLS_<NAME>_…`, and end in URL,
        REDLOCK_DEFAULTS_TLL => did you mean `REDLOCK_DEFAULTS_TTL`?
        REDLOCK_DEFAULT_TTL => did you mean `REDLOCK_DEFAULTS_TTL`?
        REDLOCK_MAXTTL => did you mean `REDLOCK_MAX_TTL`?
        REDLOCK_POOLS_EU_WEST_URI => those of this kind are `REDLOCK_POOLS_<NAME>_…`, and end in URL, PASSWORD_FILE,
        REDLOCK_POOLS__URL => those of this kind are `REDLOCK_POOLS_<NAME>_…`
        REDLOCK_SITES_SHOP__CHARGE_TTL => a function has no variables: write its table, such as `[sites.
        REDLOCK_ONCE_PER => a function has no variables: write its table
        ",
    ) {
        let error = Config::new().with_env([(name, "1")]).unwrap_err();
        let expected = format!(": {name}: there is no such variable; {expected}");
        assert!(error.to_string().contains(&expected), "{error}");
    }
    // A list of all variables leaves out those that are always refused.
    let all = Config::new().with_env([("REDLOCK_X", "1")]).unwrap_err();
    let all = all.to_string();
    assert!(all.contains("`REDLOCK_DEFAULTS_MAX_HOLD`"), "{all}");
    assert!(!all.contains("ONCE_PER"), "{all}");
}

#[test]
fn a_wrong_value_is_refused_with_what_is_expected() {
    for (setting, expected) in rows(
        r#"
        defaults.ttl = soon => milliseconds from 0 on as a number, or a time with its unit
        defaults.ttl = -1 => milliseconds from 0 on
        defaults.retry_count = -1 => a whole number from 0
        defaults.wait = always => "forever"
        defaults.on_lost = ignore => `cancel` or `continue`
        .restart_check = maybe => `standard` or `strict` or `off`
        .node_timeout = 0ms => not from 1 ms to a day
        pools.vetting = ask => `refuse` or `warn`
        pools.trust_aof = yes => `true` or `false`
        pools.replicas = all => a whole number from 0
        shutdown.deadline = 2d => above a day
        http.contended_status = 200 => not from 400 to 599
        http.contended_status = 70000 => a whole number from 0 to 65535
        "#,
    ) {
        let (path, value) = setting.split_once(" = ").expect(setting);
        let (section, key) = path.split_once('.').expect(path);
        let name = if has_names(section) { "a" } else { "" };
        let file = Config::from_toml(&table(section, key, &format!("'{value}'")));
        let variable = variable(section, name, key);
        let env = Config::new().with_env([(&variable, value)]);
        for (error, place) in [(file, "line 2"), (env, &variable)] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains(&format!(": {place}: ")), "{error}");
            assert!(error.contains(expected), "{error}");
        }
    }
}

/// The attribute has the same rule. A variable has no other form for a number.
#[test]
fn a_text_without_a_unit_is_a_time_in_a_variable_only() {
    for (key, text) in [("ttl", "60"), ("wait", "5000"), ("max_hold", "600000")] {
        let of_file = |value: &str| Config::from_toml(&table("defaults", key, value));
        let refused = of_file(&format!("'{text}'")).unwrap_err().to_string();
        let expected = format!(": line 2: `{key}` in `[defaults]`: expected ");
        assert!(refused.contains(&expected), "{refused}");
        let variable = [(variable("defaults", "", key), text)];
        let of_variable = Config::new().with_env(variable).unwrap();
        assert_eq!(of_variable.defaults, of_file(text).unwrap().defaults);
    }
}

#[test]
fn pools_in_another_form_are_refused_with_the_right_one() {
    let right = "expected a table; write `[pools.a]`, and below it `url = \"redis://host:6379\"`";
    for text in ["[[pools]]\nurl = ", "pools = ", "[pools]\na = "] {
        let refused = Config::from_toml(&format!("{text}['redis://h']")).unwrap_err();
        assert!(refused.to_string().contains(right), "{refused}");
    }
}

#[test]
fn all_mistakes_are_told_at_once_each_with_its_place() {
    let file = "[pools.a]\nurl = 'http://u:s3cret@h'\n[defaults]\nretry_delay = 'soon'\nwait = '1s'\nretry_count = 2\n\
                [htp]\n[shutdown]\ngrace = '20s'";
    let variables = [
        ("REDLOCK_MAX_TTL", "long"),
        ("REDLOCK_SHUTDOWN_GRICE", "5s"),
    ];
    let told = mistakes(file, &variables);
    let starts = [
        "line 4: `retry_delay` in `[defaults]`: expected milliseconds",
        "5: `wait` in `[defaults]`: it answers the same question as `retry_count` (line 6); keep one",
        "7: unknown key `htp`; did you mean `http`?; REDLOCK_MAX_TTL: expected milliseconds from 0 on as a \
         number, or a time with its unit, such as \"60s\" or \"1m 30s\"; REDLOCK_SHUTDOWN_GRICE: there is no such variable; did you mean",
        "2: pool `a`: this is not a node's URL (one pool is one node)",
        "8: `deadline` in `[shutdown]`: 15 s is too short; it has to be at least 400 ms longer than `grace`, 20 s",
    ];
    for (told, start) in told.iter().zip(starts) {
        assert!(told.starts_with(start), "{told}");
    }
    assert_eq!(told.len(), starts.len(), "{told:?}");
}

#[test]
fn a_file_that_a_pool_cannot_use_is_told_with_its_own_line() {
    let file = "x = 1\n[pools.a]\nurl = 'redis://u@h'\npassword_file = '/nowhere'";
    let told = mistakes(file, &[]);
    let start = "4: pool `a`: `password_file` ";
    assert!(told[1].starts_with(start), "{told:?}");
}

#[test]
fn what_a_file_without_syntax_lacks_is_not_told() {
    let file = "[pools.a]\nurl = 'memory://a'\n[defaults]\nttl = soon";
    let variables = [
        ("REDLOCK_DEFAULT_POOLS", "a"),
        ("REDLOCK_POOLS_B_URL", "memory://b"),
        ("REDLOCK_MAX_TTL", "long"),
    ];
    let told = mistakes(file, &variables).concat();
    let start =
        "line 4: string values must be quoted, expected literal string; REDLOCK_MAX_TTL: expected";
    assert!(told.starts_with(start) && !told.contains("pool"), "{told}");
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
        for (section, keys) in sections() {
            let is_name = |key: &str| key == "key_prefix" || key.ends_with("pools");
            for key in keys.into_iter().filter(|key| !is_name(key)) {
                let name = if has_names(section) { "a" } else { "" };
                let file = Config::from_toml(&table(section, key, value));
                let env = Config::new().with_env([(variable(section, name, key), value)]);
                for config in [file, env] {
                    let shown = match config {
                        Ok(config) => format!("{config:?}"),
                        Err(error) => format!("{error} {error:?}"),
                    };
                    assert!(!shown.contains("s3cret"), "{key} {value}\n{shown}");
                }
            }
        }
    }
    // A table in the place of a value, and the other way round.
    for text in [
        "pools = 's3cret'",
        "pools.a = 's3cret'",
        "defaults = ['s3cret']",
    ] {
        let error = Config::from_toml(text).unwrap_err().to_string();
        let is_placed = error.contains("line ") && error.contains("expected a table");
        assert!(is_placed && !error.contains("s3cret"), "{error}");
    }
}

#[test]
fn a_variable_wins_over_the_file_and_leaves_the_rest() {
    let file =
        Config::from_toml("key_prefix = 'file'\nmax_ttl = 1000\n[defaults]\nwait = 5").unwrap();
    let config = file.with_env([
        ("REDLOCK_KEY_PREFIX", "env"),
        ("REDLOCK_DEFAULTS_RETRY_COUNT", "5"),
        ("PATH", "/bin"),
    ]);
    let config = config.unwrap();
    assert_eq!(config.key_prefix, "env");
    assert_eq!(config.max_ttl, Duration::from_secs(1));
    let LockOptions {
        wait, retry_count, ..
    } = config.defaults;
    assert_eq!((wait, retry_count), (None, Some(5)));
}

#[test]
fn services_called_redlock_do_no_harm() {
    let variables = [
        ("REDLOCK_A_SERVICE_HOST", "10.0.0.2"),
        ("REDLOCK_A_SERVICE_PORT_REDIS", "6379"),
        ("REDLOCK_A_PORT", "tcp://10.0.0.2:6379"),
        ("REDLOCK_A_PORT_6379_TCP", "tcp://10.0.0.2:6379"),
        ("REDLOCK_SERVICE_HOST", "10.0.0.1"),
        ("REDLOCK_SERVICE_PORT", "80"),
        ("REDLOCK_SERVICE_PORT_HTTP", "80"),
        ("REDLOCK_PORT", "tcp://10.0.0.1:80"),
        ("REDLOCK_PORT_80_TCP_ADDR", "10.0.0.1"),
    ];
    assert!(Config::new().with_env(variables).is_ok());
    let unknown = [("REDLOCK_B_PORT", "80")];
    let error = Config::new().with_env(unknown).unwrap_err().to_string();
    assert!(error.contains("REDLOCK_B_PORT"), "{error}");
}

#[test]
fn a_variable_reaches_the_pool_that_the_file_spells_otherwise() {
    let file = "[pools.EU-West]\ntls_ca = 'ca'\n[pools.b]\n";
    let file = Config::from_toml(file).unwrap();
    let variables = [
        ("REDLOCK_POOLS_EU_WEST_URL", "redis://:p@h:2"),
        ("REDLOCK_POOLS_EU_WEST_VETTING", "warn"),
        ("REDLOCK_POOLS_C_URL", "memory://c"),
    ];
    let config = file.with_env(variables).unwrap();
    assert!(config.pools.keys().eq(["EU-West", "b", "c"]));
    let pool = &config.pools["EU-West"];
    assert_eq!(format!("{:?}", pool.url), "Some(h:2)");
    assert!(pool.vetting == Some(Vetting::Warn) && pool.tls_ca.is_some());
}

#[test]
fn a_variable_that_fits_two_pools_of_the_file_is_refused() {
    let file = "[pools.EU-West]\nurl = 'redis://h:1'\n[pools.eu_west]\nurl = 'redis://h:2'";
    let file = Config::from_toml(file).unwrap();
    let error = file
        .with_env([("REDLOCK_POOLS_EU_WEST_URL", "x")])
        .unwrap_err();
    let expected = "REDLOCK_POOLS_EU_WEST_URL: it fits the pools `EU-West` and `eu_west`;";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn a_blank_name_of_the_file_is_told_with_its_variable() {
    for blank in ["", " "] {
        let mut reader = ConfigReader::over(Config::new());
        reader.read_environment(vec![(keys::CONFIG_FILE.into(), blank.into())]);
        let told = reader.finish_load().unwrap_err().to_string();
        assert!(told.contains(": REDLOCK_CONFIG: it is blank; "), "{told}");
    }
}

#[cfg(unix)]
#[test]
fn the_file_that_a_variable_names_may_have_any_path() {
    use std::os::unix::ffi::OsStringExt as _;

    let path = OsString::from_vec(vec![b'/', 0xff]);
    let variables = [(OsString::from(keys::CONFIG_FILE), path)];
    assert!(Config::new().with_env(variables).is_ok());
}

#[test]
fn what_is_said_later_of_a_site_is_above() {
    let seconds = Duration::from_secs;
    let first = SiteConfig::new()
        .ttl(seconds(1))
        .retry_count(5)
        .pools(["x"]);
    let second = SiteConfig::new().ttl(seconds(2)).wait(seconds(3));
    let config = Config::new().site("a", first).site("a", second);
    let expected = SiteConfig::new()
        .ttl(seconds(2))
        .wait(seconds(3))
        .pools(["x"]);
    assert_eq!(config.sites["a"], expected);
}
