//! The `REDLOCK_*` variables.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use redlock_core::redis::Vetting;

use super::file::{File, Pool, RestartChecks};
use super::keys::{self, OF_A_POOL};
use super::layer::{OF_A_SITE, PARAMETERS, names};
use super::pool::PoolSource;
use crate::parameters::{Value as _, number, one_of};
use crate::text::{Name, did_you_mean, nearest};

/// Names the configuration file.
pub(super) const CONFIG_FILE: &str = "REDLOCK_CONFIG";

const PREFIX: &str = "REDLOCK_";

/// Reads the library's variables, and skips all others.
pub(super) fn read(variables: impl Iterator<Item = (OsString, OsString)>) -> Result<File, String> {
    let mut file = File::default();
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        if name == CONFIG_FILE {
            // It has been followed already, as a path, which need not be UTF-8.
            continue;
        }
        let value = value
            .to_str()
            .ok_or_else(|| format!("{}: the value is not UTF-8", Name(name)))?;
        set(&mut file, name, value).map_err(|reason| format!("{}: {reason}", Name(name)))?;
    }
    if file.defaults.contradicts_itself() {
        return Err(
            "REDLOCK_DEFAULTS_WAIT and REDLOCK_DEFAULTS_RETRY_COUNT answer the same question; set \
             one"
            .to_owned(),
        );
    }
    for (name, layer) in &file.spelled_sites {
        if layer.contradicts_itself() {
            let about = format!("REDLOCK_SITES_{}", Name(name));
            return Err(format!(
                "{about}_WAIT and {about}_RETRY_COUNT answer the same question; set one"
            ));
        }
    }
    Ok(file)
}

/// Gives what the variables say of pools the names that the pools have: in a variable there is one way to
/// spell several names.
///
/// # Errors
/// If a variable fits two pools.
pub(super) fn reach<'a>(
    file: &mut File,
    pools: impl Iterator<Item = &'a String>,
) -> Result<(), String> {
    let mut by_spelling: BTreeMap<String, &str> = BTreeMap::new();
    for name in pools {
        let spelling = name.to_ascii_lowercase().replace('-', "_");
        let is_said =
            file.pools.contains_key(&spelling) || file.pool_settings.contains_key(&spelling);
        let variable = spelling.to_ascii_uppercase();
        if let Some(other) = by_spelling.insert(spelling, name)
            && is_said
        {
            return Err(format!(
                "`REDLOCK_POOLS_{}_…` fits the pools `{}` and `{}`; give one of them a name that \
                 differs in more than case, `-` and `_`",
                Name(&variable),
                Name(other),
                Name(name),
            ));
        }
    }
    for (spelling, name) in by_spelling {
        renamed(&mut file.pools, &spelling, name);
        renamed(&mut file.pool_settings, &spelling, name);
    }
    Ok(())
}

fn renamed<T>(map: &mut BTreeMap<String, T>, spelling: &str, name: &str) {
    if let Some(value) = map.remove(spelling) {
        map.insert(name.to_owned(), value);
    }
}

/// Sets what one variable says. An error never repeats the value: it may be a password.
fn set(file: &mut File, name: &str, value: &str) -> Result<(), String> {
    match &name[PREFIX.len()..] {
        "DEFAULT_POOLS" => file.default_pools = Some(names(value)),
        "KEY_PREFIX" => file.key_prefix = Some(value.to_owned()),
        "MAX_TTL" => file.max_ttl = Some(Duration::parse(value)?),
        "NODE_TIMEOUT" => file.node_timeout = Some(Duration::parse(value)?),
        "CONNECT_TIMEOUT" => file.connect_timeout = Some(Duration::parse(value)?),
        "RESTART_CHECK" => {
            let modes = [
                ("standard", RestartChecks::Standard),
                ("strict", RestartChecks::Strict),
                ("off", RestartChecks::Off),
            ];
            file.restart_check = Some(one_of(value, &modes)?);
        }
        "WAITING_HANDOVERS" => file.waiting.handovers = Some(number(value, "32")?),
        "WAITING_HANDOVER_TIME" => file.waiting.handover_time = Some(Duration::parse(value)?),
        "WAITING_MAX_CALLERS_PER_LOCK" => {
            file.waiting.max_callers_per_lock = Some(number(value, "10000")?);
        }
        "WAITING_MAX_CALLERS" => file.waiting.max_callers = Some(number(value, "100000")?),
        "SHUTDOWN_GRACE" => file.shutdown.grace = Some(Duration::parse(value)?),
        "SHUTDOWN_DEADLINE" => file.shutdown.deadline = Some(Duration::parse(value)?),
        "SHUTDOWN_RELEASE_ON_EXIT" => file.shutdown.release_on_exit = Some(bool::parse(value)?),
        "HTTP_CONTENDED_STATUS" => file.http.contended_status = Some(number(value, "423")?),
        rest if is_of_a_service(rest) => {}
        rest => {
            if let Some(parameter) = rest.strip_prefix("DEFAULTS_") {
                let Some(key) = key_named(parameter, PARAMETERS) else {
                    return Err(unknown(name));
                };
                file.defaults.set(key, value)?;
            } else if let Some(rest) = rest.strip_prefix("SITES_") {
                let Some((site, key)) = split(rest, OF_A_SITE) else {
                    return Err(unknown_of("SITES_", rest, OF_A_SITE));
                };
                let layer = file.spelled_sites.entry(site.to_owned()).or_default();
                layer.set(key, value)?;
            } else if let Some(rest) = rest.strip_prefix("POOLS_") {
                let Some((pool, key)) = split(rest, &OF_A_POOL) else {
                    return Err(unknown_of("POOLS_", rest, &OF_A_POOL));
                };
                set_of_pool(file, pool.to_ascii_lowercase(), key, value)?;
            } else {
                return Err(unknown(name));
            }
        }
    }
    Ok(())
}

fn set_of_pool(file: &mut File, pool: String, key: &str, value: &str) -> Result<(), String> {
    match key {
        "url" => {
            file.pools
                .insert(pool, Pool::at(PoolSource::Url(value.into())));
        }
        "password_file" => {
            file.pool_settings.entry(pool).or_default().password_file = Some(value.into());
        }
        "vetting" => {
            let choices = [("refuse", Vetting::Refuse), ("warn", Vetting::Warn)];
            let vetting = one_of(value, &choices)?;
            file.pool_settings.entry(pool).or_default().vetting = Some(vetting);
        }
        "trust_aof" => {
            let trusts = bool::parse(value)?;
            file.pool_settings.entry(pool).or_default().trust_aof = Some(trusts);
        }
        "tls_ca" => file.pool_settings.entry(pool).or_default().tls.ca = Some(value.into()),
        "tls_cert" => {
            file.pool_settings.entry(pool).or_default().tls.certificate = Some(value.into());
        }
        "tls_key" => file.pool_settings.entry(pool).or_default().tls.key = Some(value.into()),
        _ => return Err("there is no such setting of a pool".to_owned()),
    }
    Ok(())
}

/// The key that a variable's part names.
fn key_named<'a>(part: &str, keys: &[&'a str]) -> Option<&'a str> {
    let is_named = |key: &&&str| part == key.to_ascii_uppercase();
    keys.iter().find(is_named).copied()
}

/// `A_TRUST_AOF` as `A` and `trust_aof`. No key ends in `_` and another one.
fn split<'a>(rest: &'a str, keys: &[&'static str]) -> Option<(&'a str, &'static str)> {
    keys.iter().find_map(|key| {
        let name = rest.strip_suffix(&key.to_ascii_uppercase())?;
        let name = name.strip_suffix('_').filter(|name| !name.is_empty())?;
        Some((name, *key))
    })
}

fn unknown(name: &str) -> String {
    let mut known = keys::variables();
    known.push(CONFIG_FILE.to_owned());
    let suggestion = did_you_mean(name, known.iter().map(String::as_str));
    format!("there is no such variable{suggestion}")
}

/// The same for a variable about something that has a name: its last words are meant as a key.
fn unknown_of(section: &str, rest: &str, keys: &[&str]) -> String {
    let upper: Vec<String> = keys.iter().map(|key| key.to_ascii_uppercase()).collect();
    let suggested = rest.match_indices('_').find_map(|(at, _)| {
        let (name, typed) = (&rest[..at], &rest[at + 1..]);
        let key = nearest(typed, upper.iter().map(String::as_str))?;
        (!name.is_empty()).then(|| format!("{PREFIX}{section}{}_{key}", Name(name)))
    });
    match suggested {
        Some(suggested) => format!("there is no such variable; did you mean `{suggested}`?"),
        None => format!(
            "there is no such variable; those of this kind end in {}",
            upper.join(", ")
        ),
    }
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

#[cfg(test)]
mod tests;
