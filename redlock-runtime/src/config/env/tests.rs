//! What is read of the environment.

use super::*;
use crate::Config;

#[test]
fn a_variable_wins_over_the_file_and_what_the_environment_leaves_out_stays() {
    let file = Config::from_toml("key_prefix = 'file'\nmax_ttl = 1000").unwrap();
    let config = file.with_env([("REDLOCK_KEY_PREFIX", "env"), ("PATH", "/bin")]);
    let config = config.unwrap();
    assert_eq!(config.key_prefix, "env");
    assert_eq!(config.max_ttl, Duration::from_secs(1));
}

#[test]
fn a_service_called_redlock_does_no_harm() {
    let variables = [
        ("REDLOCK_SERVICE_HOST", "10.0.0.1"),
        ("REDLOCK_SERVICE_PORT", "80"),
        ("REDLOCK_SERVICE_PORT_HTTP", "80"),
        ("REDLOCK_PORT", "tcp://10.0.0.1:80"),
        ("REDLOCK_PORT_80_TCP_ADDR", "10.0.0.1"),
    ];
    assert!(Config::new().with_env(variables).is_ok());
}

#[test]
fn a_variable_reaches_the_pool_that_the_file_spells_otherwise() {
    let file = Config::from_toml("[pools.EU-West]\nurl = 'redis://h:1'").unwrap();
    let config = file
        .with_env([
            ("REDLOCK_POOLS_EU_WEST_URL", "redis://h:2"),
            ("REDLOCK_POOLS_EU_WEST_VETTING", "warn"),
        ])
        .unwrap();
    assert_eq!(config.pools.keys().collect::<Vec<_>>(), ["EU-West"]);
    assert!(config.pool_settings.keys().eq(["EU-West"]));
    assert_eq!(format!("{:?}", config.pools["EU-West"]), "h:2");
}

#[test]
fn a_file_may_leave_the_url_to_a_variable_for_its_password() {
    let file = "[pools.EU-West]\ntls_ca = 'ca'\n[pools.b]\n";
    let file = Config::from_toml(file).unwrap();
    let url = [("REDLOCK_POOLS_EU_WEST_URL", "rediss://:p@h:1")];
    let config = file.with_env(url).unwrap();
    assert!(config.pools.keys().eq(["EU-West"]));
    let settings = config.pool_settings.iter();
    let expected = [("EU-West", Some("ca".into())), ("b", None)];
    assert!(
        settings
            .map(|(name, it)| (&**name, it.tls.ca.clone()))
            .eq(expected)
    );
}

#[test]
fn a_variable_that_fits_two_pools_of_the_file_is_refused_and_others_are_not() {
    let file = "[pools.EU-West]\nurl = 'redis://h:1'\n[pools.eu_west]\nurl = 'redis://h:2'";
    let file = Config::from_toml(file).unwrap();
    for key in ["URL", "TLS_CA"] {
        let name = format!("REDLOCK_POOLS_EU_WEST_{key}");
        let error = file.clone().with_env([(name, "x")]).unwrap_err();
        let expected = "`REDLOCK_POOLS_EU_WEST_…` fits the pools `EU-West` and `eu_west`;";
        assert!(error.to_string().contains(expected), "{error}");
    }
    let config = file.with_env([("REDLOCK_POOLS_B_URL", "redis://h:3")]);
    assert!(config.unwrap().pools.keys().eq(["EU-West", "b", "eu_west"]));
}

#[cfg(unix)]
#[test]
fn the_file_that_a_variable_names_may_have_any_path() {
    use std::os::unix::ffi::OsStringExt as _;

    let path = OsString::from_vec(vec![b'/', 0xff]);
    let variables = [(OsString::from(CONFIG_FILE), path)];
    assert!(Config::new().with_env(variables).is_ok());
}

#[test]
fn an_unknown_variable_or_value_is_refused_by_name() {
    for (name, value, hint) in [
        ("REDLOCK_TTL", "5s", "no such variable"),
        ("REDLOCK_POOLS__URL", "redis://h", "no such variable"),
        ("REDLOCK_DEFAULTS_TTL", "soon", "no duration"),
        ("REDLOCK_DEFAULTS_RETRY_COUNT", "-1", "not a number"),
        ("REDLOCK_DEFAULTS_WAIT", "x", "or `forever`"),
        ("REDLOCK_DEFAULTS_ON_LOST", "x", "none of"),
        ("REDLOCK_POOLS_A_VETTING", "x", "none of"),
        ("REDLOCK_POOLS_A_TRUST_AOF", "yes", "none of"),
        ("REDLOCK_RESTART_CHECK", "x", "none of"),
    ] {
        let error = Config::new()
            .with_env([(name, value)])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!(": {name}: ")) && error.contains(hint),
            "{error}"
        );
    }
}
