//! The TOML file's shape.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use redlock_core::redis::Vetting;
use redlock_core::restart_check::RestartCheck;
use serde::Deserialize;
use toml::de::DeTable;

use super::layer::Layer;
use super::pool::{PoolSettings, PoolSource};
use super::{Config, keys};
use crate::parameters::given;

/// The settings of one source. `None` leaves a setting to the source below.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct File {
    pub(super) pools: BTreeMap<String, Pool>,
    /// Settings of pools from variables: each variable has one setting.
    #[serde(skip)]
    pub(super) pool_settings: BTreeMap<String, PoolSettings>,
    pub(super) restart_check: Option<RestartChecks>,
    pub(super) default_pools: Option<Vec<String>>,
    pub(super) key_prefix: Option<String>,
    #[serde(deserialize_with = "given")]
    pub(super) max_ttl: Option<Duration>,
    #[serde(deserialize_with = "given")]
    pub(super) node_timeout: Option<Duration>,
    #[serde(deserialize_with = "given")]
    pub(super) connect_timeout: Option<Duration>,
    pub(super) defaults: Layer,
    pub(super) sites: BTreeMap<String, Layer>,
    /// Settings of sites from variables, by the site's name as the variable has it.
    #[serde(skip)]
    pub(super) spelled_sites: BTreeMap<String, Layer>,
    pub(super) waiting: InLine,
    pub(super) shutdown: Shutdown,
    pub(super) http: Http,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pool {
    /// `None` if a variable has the URL, because of the password in it.
    #[serde(default)]
    pub(super) url: Option<PoolSource>,
    #[serde(default)]
    pub(super) password_file: Option<PathBuf>,
    #[serde(default)]
    pub(super) vetting: Option<Vets>,
    #[serde(default)]
    pub(super) trust_aof: Option<bool>,
    #[serde(default)]
    pub(super) tls_ca: Option<PathBuf>,
    #[serde(default)]
    pub(super) tls_cert: Option<PathBuf>,
    #[serde(default)]
    pub(super) tls_key: Option<PathBuf>,
}

impl Pool {
    /// An error without details: its place only.
    pub(super) fn at(url: PoolSource) -> Self {
        Self {
            url: Some(url),
            password_file: None,
            vetting: None,
            trust_aof: None,
            tls_ca: None,
            tls_cert: None,
            tls_key: None,
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RestartChecks {
    Standard,
    Strict,
    Off,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Vets {
    Refuse,
    Warn,
}

impl From<Vets> for Vetting {
    fn from(vetting: Vets) -> Self {
        match vetting {
            Vets::Refuse => Self::Refuse,
            Vets::Warn => Self::Warn,
        }
    }
}

/// `[waiting]`: settings for callers of one process that wait for the same lock.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct InLine {
    pub(super) handovers: Option<u32>,
    #[serde(deserialize_with = "given")]
    pub(super) handover_time: Option<Duration>,
    pub(super) max_callers_per_lock: Option<usize>,
    pub(super) max_callers: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Shutdown {
    #[serde(deserialize_with = "given")]
    pub(super) grace: Option<Duration>,
    #[serde(deserialize_with = "given")]
    pub(super) deadline: Option<Duration>,
    pub(super) release_on_exit: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Http {
    pub(super) contended_status: Option<u16>,
}

impl File {
    /// Parses a TOML text.
    ///
    /// # Errors
    /// The fault, with its line and key. The written value is never repeated: it may be a password,
    /// also in a place that is not made for one.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        // A syntax error's own text names the expected token.
        let syntax = |error: toml::de::Error| at_line(text, error.span(), error.message());
        let table = DeTable::parse(text).map_err(syntax)?;
        keys::check(text, table.get_ref())?;
        let file: Self = toml::from_str(text).map_err(|error| {
            let at = error.span().map(|span| span.start);
            let reason = without_value(error.message());
            let reason = match at.and_then(|at| keys::key_at(table.get_ref(), at)) {
                Some(key) => format!("{key}: {reason}"),
                None => reason,
            };
            at_line(text, error.span(), &reason)
        })?;
        let defaults = (["defaults", "wait"], &file.defaults);
        let mut layers = vec![defaults];
        let sites = file.sites.iter();
        layers.extend(sites.map(|(name, layer)| (["sites", name], layer)));
        for (at, layer) in layers {
            if layer.contradicts_itself() {
                let place = match at {
                    ["defaults", _] => "`[defaults]`".to_owned(),
                    [section, name] => keys::table_name(section, name),
                };
                let reason = format!(
                    "{place} has both `wait` and `retry_count`; they answer the same question, so \
                     keep one"
                );
                return Err(at_line(text, keys::place_of(table.get_ref(), at), &reason));
            }
        }
        Ok(file)
    }

    pub(super) fn over(self, mut config: Config) -> Config {
        fn set<T>(place: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *place = value;
            }
        }
        let mut settings = self.pool_settings;
        for (name, pool) in self.pools {
            let mut own = PoolSettings {
                vetting: pool.vetting.map(Vetting::from),
                trust_aof: pool.trust_aof,
                password_file: pool.password_file,
                ..PoolSettings::default()
            };
            own.tls.ca = pool.tls_ca;
            own.tls.certificate = pool.tls_cert;
            own.tls.key = pool.tls_key;
            // A pool without a URL is kept too: `init` has to report it.
            if own != PoolSettings::default() || pool.url.is_none() {
                let settings = settings.entry(name.clone()).or_default();
                *settings = std::mem::take(settings).over(own);
            }
            if let Some(url) = pool.url {
                config.pools.insert(name, url);
            }
        }
        for (name, own) in settings {
            let settings = config.pool_settings.entry(name).or_default();
            *settings = own.over(std::mem::take(settings));
        }
        let restart_check = self.restart_check.map(|restart_check| match restart_check {
            RestartChecks::Standard => RestartCheck::Standard,
            RestartChecks::Strict => RestartCheck::Strict,
            RestartChecks::Off => RestartCheck::Off,
        });
        config.restart_check = restart_check.or(config.restart_check);
        config.default_pools = self.default_pools.or(config.default_pools);
        set(&mut config.key_prefix, self.key_prefix);
        set(&mut config.max_ttl, self.max_ttl);
        set(&mut config.node_timeout, self.node_timeout);
        set(&mut config.connect_timeout, self.connect_timeout);
        set(&mut config.handover.most, self.waiting.handovers);
        set(&mut config.handover.longest, self.waiting.handover_time);
        set(&mut config.max_waiting.0, self.waiting.max_callers_per_lock);
        set(&mut config.max_waiting.1, self.waiting.max_callers);
        set(&mut config.shutdown_grace, self.shutdown.grace);
        set(&mut config.shutdown_deadline, self.shutdown.deadline);
        set(&mut config.release_on_exit, self.shutdown.release_on_exit);
        set(
            &mut config.http.contended_status,
            self.http.contended_status,
        );
        config.defaults = self.defaults.options().above(config.defaults);
        for (name, layer) in self.sites {
            config.sites.add(name, layer.into());
        }
        for (name, layer) in self.spelled_sites {
            config.sites.add_spelled(name, layer.into());
        }
        config
    }
}

fn at_line(text: &str, place: Option<std::ops::Range<usize>>, reason: &str) -> String {
    match place {
        Some(place) => format!("line {}: {reason}", keys::line_of(text, place.start)),
        None => reason.to_owned(),
    }
}

/// A message of serde without the value that it quotes: only the expected type.
fn without_value(message: &str) -> String {
    if let Some((_, expected)) = message.rsplit_once(", expected ") {
        return format!("expected {expected}");
    }
    match message.strip_prefix("missing field ") {
        Some(field) => format!("{field} is missing"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
