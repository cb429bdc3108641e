//! The `REDLOCK_*` variables.

use std::ffi::OsString;

use redlock_core::Vetting;

use super::file::{CancelPolicy, File, Guard, LostPolicy, Pool};
use super::pool::PoolUrl;
use super::span::{Hold, Least, Span, Waiting};

/// Names the configuration file.
pub(super) const CONFIG_FILE: &str = "REDLOCK_CONFIG";

const PREFIX: &str = "REDLOCK_";

/// Every variable that there is, for the error about one that there is not.
const KNOWN: [&str; 32] = [
    CONFIG_FILE,
    "REDLOCK_POOLS_<NAME>_URL",
    "REDLOCK_POOLS_<NAME>_VETTING",
    "REDLOCK_POOLS_<NAME>_TRUST_AOF",
    "REDLOCK_POOLS_<NAME>_TLS_CA",
    "REDLOCK_POOLS_<NAME>_TLS_CERT",
    "REDLOCK_POOLS_<NAME>_TLS_KEY",
    "REDLOCK_POOLS_<NAME>_TLS_SERVER_NAME",
    "REDLOCK_RESTART_GUARD",
    "REDLOCK_DEFAULT_POOLS",
    "REDLOCK_KEY_PREFIX",
    "REDLOCK_MAX_TTL",
    "REDLOCK_NODE_TIMEOUT",
    "REDLOCK_CONNECT_TIMEOUT",
    "REDLOCK_DEFAULTS_TTL",
    "REDLOCK_DEFAULTS_RETRY_COUNT",
    "REDLOCK_DEFAULTS_WAIT",
    "REDLOCK_DEFAULTS_RETRY_DELAY",
    "REDLOCK_DEFAULTS_CLOCK_DRIFT_FACTOR",
    "REDLOCK_DEFAULTS_MIN_VALIDITY",
    "REDLOCK_DEFAULTS_MAX_HOLD",
    "REDLOCK_DEFAULTS_MIN_HOLD",
    "REDLOCK_DEFAULTS_FENCING",
    "REDLOCK_DEFAULTS_ON_LOST",
    "REDLOCK_DEFAULTS_ON_CANCEL",
    "REDLOCK_WAITING_HANDOVERS",
    "REDLOCK_WAITING_HANDOVER_TIME",
    "REDLOCK_WAITING_MAX_CALLERS_PER_LOCK",
    "REDLOCK_WAITING_MAX_CALLERS",
    "REDLOCK_SHUTDOWN_GRACE",
    "REDLOCK_SHUTDOWN_DEADLINE",
    "REDLOCK_HTTP_CONTENDED_STATUS",
];

/// What the variables say. Others than ours are passed over.
pub(super) fn read(variables: impl Iterator<Item = (OsString, OsString)>) -> Result<File, String> {
    let mut file = File::default();
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        let value = value
            .to_str()
            .ok_or_else(|| format!("{name}: the value is not UTF-8"))?;
        set(&mut file, name, value).map_err(|reason| format!("{name}: {reason}"))?;
    }
    if file.defaults.contradicts_itself() {
        return Err(
            "REDLOCK_DEFAULTS_WAIT and REDLOCK_DEFAULTS_RETRY_COUNT answer the same question; set \
             one"
            .to_owned(),
        );
    }
    Ok(file)
}

fn set(file: &mut File, name: &str, value: &str) -> Result<(), String> {
    match &name[PREFIX.len()..] {
        "CONFIG" => {}
        "DEFAULT_POOLS" => {
            let names = value.split(',').map(|name| name.trim().to_owned());
            file.default_pools = Some(names.filter(|name| !name.is_empty()).collect());
        }
        "KEY_PREFIX" => file.key_prefix = Some(value.to_owned()),
        "MAX_TTL" => file.max_ttl = Some(Span::parse(value)?),
        "NODE_TIMEOUT" => file.node_timeout = Some(Span::parse(value)?),
        "CONNECT_TIMEOUT" => file.connect_timeout = Some(Span::parse(value)?),
        "DEFAULTS_TTL" => file.defaults.ttl = Some(Span::parse(value)?),
        "DEFAULTS_RETRY_COUNT" => file.defaults.retry_count = Some(number(value, "3")?),
        "DEFAULTS_WAIT" => file.defaults.wait = Some(Waiting::parse(value)?),
        "DEFAULTS_RETRY_DELAY" => file.defaults.retry_delay = Some(Span::parse(value)?),
        "DEFAULTS_CLOCK_DRIFT_FACTOR" => {
            file.defaults.clock_drift_factor = Some(number(value, "0.01")?);
        }
        "DEFAULTS_ON_LOST" => {
            file.defaults.on_lost = Some(match value {
                "cancel" => LostPolicy::Cancel,
                "continue" => LostPolicy::Continue,
                other => return Err(format!("`{other}` is neither `cancel` nor `continue`")),
            });
        }
        "DEFAULTS_ON_CANCEL" => {
            file.defaults.on_cancel = Some(match value {
                "release" => CancelPolicy::Release,
                "expire" => CancelPolicy::Expire,
                other => return Err(format!("`{other}` is neither `release` nor `expire`")),
            });
        }
        "DEFAULTS_MIN_VALIDITY" => file.defaults.min_validity = Some(Least::parse(value)?),
        "DEFAULTS_MAX_HOLD" => file.defaults.max_hold = Some(Hold::parse(value)?),
        "DEFAULTS_MIN_HOLD" => file.defaults.min_hold = Some(Span::parse(value)?),
        "DEFAULTS_FENCING" => {
            file.defaults.fencing = Some(match value {
                "true" => true,
                "false" => false,
                other => return Err(format!("`{other}` is neither `true` nor `false`")),
            });
        }
        "RESTART_GUARD" => {
            file.restart_guard = Some(match value {
                "standard" => Guard::Standard,
                "strict" => Guard::Strict,
                "off" => Guard::Off,
                other => {
                    return Err(format!(
                        "`{other}` is none of `standard`, `strict` and `off`"
                    ));
                }
            });
        }
        "WAITING_HANDOVERS" => file.waiting.handovers = Some(number(value, "32")?),
        "WAITING_HANDOVER_TIME" => file.waiting.handover_time = Some(Span::parse(value)?),
        "WAITING_MAX_CALLERS_PER_LOCK" => {
            file.waiting.max_callers_per_lock = Some(number(value, "10000")?);
        }
        "WAITING_MAX_CALLERS" => file.waiting.max_callers = Some(number(value, "100000")?),
        "SHUTDOWN_GRACE" => file.shutdown.grace = Some(Span::parse(value)?),
        "SHUTDOWN_DEADLINE" => file.shutdown.deadline = Some(Span::parse(value)?),
        "HTTP_CONTENDED_STATUS" => file.http.contended_status = Some(number(value, "423")?),
        rest if is_of_a_service(rest) => {}
        rest => {
            if !set_of_pool(file, rest, value)? {
                return Err(format!(
                    "there is no such variable; there are {}",
                    KNOWN.join(", ")
                ));
            }
        }
    }
    Ok(())
}

/// Whether it is a setting of a pool's.
fn set_of_pool(file: &mut File, rest: &str, value: &str) -> Result<bool, String> {
    let of_pool = |end| {
        let pool = rest.strip_prefix("POOLS_")?.strip_suffix(end)?;
        (!pool.is_empty()).then(|| pool.to_ascii_lowercase())
    };
    let settings = &mut file.pool_settings;
    if let Some(pool) = of_pool("_URL") {
        file.pools.insert(pool, Pool::at(PoolUrl::new(value)));
    } else if let Some(pool) = of_pool("_VETTING") {
        let vetting = match value {
            "refuse" => Vetting::Refuse,
            "warn" => Vetting::Warn,
            other => return Err(format!("`{other}` is neither `refuse` nor `warn`")),
        };
        settings.entry(pool).or_default().vetting = Some(vetting);
    } else if let Some(pool) = of_pool("_TRUST_AOF") {
        let trusts = match value {
            "true" => true,
            "false" => false,
            other => return Err(format!("`{other}` is neither `true` nor `false`")),
        };
        settings.entry(pool).or_default().trust_aof = Some(trusts);
    } else if let Some(pool) = of_pool("_TLS_CA") {
        settings.entry(pool).or_default().tls.ca = Some(value.into());
    } else if let Some(pool) = of_pool("_TLS_CERT") {
        settings.entry(pool).or_default().tls.certificate = Some(value.into());
    } else if let Some(pool) = of_pool("_TLS_KEY") {
        settings.entry(pool).or_default().tls.key = Some(value.into());
    } else if let Some(pool) = of_pool("_TLS_SERVER_NAME") {
        settings.entry(pool).or_default().tls.server_name = Some(value.into());
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Kubernetes gives every pod such variables for each Service of its namespace; one called
/// `redlock` must not keep a program from starting.
fn is_of_a_service(rest: &str) -> bool {
    rest == "PORT"
        || rest.starts_with("PORT_")
        || rest == "SERVICE_HOST"
        || rest == "SERVICE_PORT"
        || rest.starts_with("SERVICE_PORT_")
}

fn number<N: std::str::FromStr>(text: &str, example: &str) -> Result<N, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("`{text}` is not a number such as {example}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Config;

    #[test]
    fn every_known_variable_is_read_and_wins_over_the_file() {
        let file = Config::from_toml("key_prefix = 'file'\nmax_ttl = 1000").unwrap();
        let config = file
            .with_env([
                ("REDLOCK_POOLS_A_URL", "redis://h:1"),
                ("REDLOCK_POOLS_EU_WEST_URL", "redis://h:2"),
                ("REDLOCK_POOLS_EU_WEST_VETTING", "warn"),
                ("REDLOCK_POOLS_EU_WEST_TRUST_AOF", "true"),
                ("REDLOCK_POOLS_EU_WEST_TLS_CA", "ca"),
                ("REDLOCK_POOLS_EU_WEST_TLS_CERT", "cert"),
                ("REDLOCK_POOLS_EU_WEST_TLS_KEY", "key"),
                ("REDLOCK_POOLS_EU_WEST_TLS_SERVER_NAME", "name"),
                ("REDLOCK_RESTART_GUARD", "strict"),
                ("REDLOCK_DEFAULT_POOLS", "a, eu_west"),
                ("REDLOCK_KEY_PREFIX", "env"),
                ("REDLOCK_DEFAULTS_TTL", "5s"),
                ("REDLOCK_DEFAULTS_RETRY_COUNT", "9"),
                ("REDLOCK_SHUTDOWN_GRACE", "100"),
                ("PATH", "/bin"),
            ])
            .unwrap();
        assert_eq!(config.pools.keys().collect::<Vec<_>>(), ["a", "eu_west"]);
        assert_eq!(config.default_pools.as_ref().unwrap(), &["a", "eu_west"]);
        assert_eq!(config.key_prefix, "env");
        let settings = &config.pool_settings["eu_west"];
        assert_eq!(settings.vetting, Some(Vetting::Warn));
        assert_eq!(settings.trust_aof, Some(true));
        assert_eq!(settings.tls.ca, Some("ca".into()));
        assert_eq!(settings.tls.certificate, Some("cert".into()));
        assert_eq!(settings.tls.key, Some("key".into()));
        assert_eq!(settings.tls.server_name, Some("name".into()));
        assert!(config.restart_guard.is_some());
        assert_eq!(
            config.max_ttl,
            Duration::from_secs(1),
            "what the environment leaves out stays"
        );
        assert_eq!(config.defaults.ttl, Some(Duration::from_secs(5)));
        assert_eq!(config.shutdown_grace, Duration::from_millis(100));
    }

    #[test]
    fn every_name_in_the_list_is_accepted() {
        for name in KNOWN {
            let name = name.replace("<NAME>", "A");
            let value = match &*name {
                "REDLOCK_DEFAULTS_WAIT" => "forever",
                "REDLOCK_DEFAULTS_ON_LOST" => "cancel",
                "REDLOCK_DEFAULTS_ON_CANCEL" => "expire",
                "REDLOCK_POOLS_A_VETTING" => "warn",
                "REDLOCK_DEFAULTS_FENCING" | "REDLOCK_POOLS_A_TRUST_AOF" => "true",
                "REDLOCK_RESTART_GUARD" => "off",
                _ => "0",
            };
            Config::new().with_env([(name, value)]).unwrap();
        }
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
        assert_eq!(format!("{:?}", config.pools["EU-West"]), "PoolUrl(h:2)");
    }

    #[test]
    fn an_unknown_variable_or_value_is_refused_by_name() {
        for (name, value, hint) in [
            ("REDLOCK_TTL", "5s", "no such variable"),
            ("REDLOCK_POOLS__URL", "redis://h", "no such variable"),
            ("REDLOCK_DEFAULTS_TTL", "soon", "no duration"),
            ("REDLOCK_DEFAULTS_RETRY_COUNT", "-1", "not a number"),
            ("REDLOCK_DEFAULTS_WAIT", "x", "or `forever`"),
            ("REDLOCK_DEFAULTS_ON_LOST", "x", "neither"),
            ("REDLOCK_POOLS_A_VETTING", "x", "neither"),
            ("REDLOCK_POOLS_A_TRUST_AOF", "yes", "neither"),
            ("REDLOCK_RESTART_GUARD", "x", "none of"),
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
}
