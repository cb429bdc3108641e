//! The TOML file's shape.

use std::collections::BTreeMap;
use std::path::PathBuf;

use redlock_core::guard::RestartGuard;
use redlock_core::{OnLost, RetryLimit, Vetting};
use serde::Deserialize;

use super::Config;
use super::pool::{PoolSettings, PoolUrl};
use super::span::{Hold, Least, Span, Waiting};
use crate::parameters::OnCancel;

/// What one source says; `None` leaves it to the one below.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct File {
    pub(super) pools: BTreeMap<String, Pool>,
    /// From variables, which name one setting of a pool at a time.
    #[serde(skip)]
    pub(super) pool_settings: BTreeMap<String, PoolSettings>,
    pub(super) restart_guard: Option<Guard>,
    pub(super) default_pools: Option<Vec<String>>,
    pub(super) key_prefix: Option<String>,
    pub(super) max_ttl: Option<Span>,
    pub(super) node_timeout: Option<Span>,
    pub(super) connect_timeout: Option<Span>,
    pub(super) defaults: Defaults,
    pub(super) waiting: InLine,
    pub(super) shutdown: Shutdown,
    pub(super) http: Http,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pool {
    pub(super) url: PoolUrl,
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
    #[serde(default)]
    pub(super) tls_server_name: Option<String>,
}

impl Pool {
    /// With nothing said but where it is.
    pub(super) fn at(url: PoolUrl) -> Self {
        Self {
            url,
            vetting: None,
            trust_aof: None,
            tls_ca: None,
            tls_cert: None,
            tls_key: None,
            tls_server_name: None,
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Guard {
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

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Defaults {
    pub(super) ttl: Option<Span>,
    pub(super) retry_count: Option<u32>,
    pub(super) wait: Option<Waiting>,
    pub(super) retry_delay: Option<Span>,
    pub(super) clock_drift_factor: Option<f64>,
    pub(super) min_validity: Option<Least>,
    pub(super) max_hold: Option<Hold>,
    pub(super) min_hold: Option<Span>,
    pub(super) fencing: Option<bool>,
    pub(super) on_lost: Option<LostPolicy>,
    pub(super) on_cancel: Option<CancelPolicy>,
}

impl Defaults {
    pub(super) fn contradicts_itself(&self) -> bool {
        self.wait.is_some() && self.retry_count.is_some()
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LostPolicy {
    Cancel,
    Continue,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CancelPolicy {
    Release,
    Expire,
}

/// Of callers of one process who wait for the same lock.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct InLine {
    pub(super) handovers: Option<u32>,
    pub(super) handover_time: Option<Span>,
    pub(super) max_callers_per_lock: Option<usize>,
    pub(super) max_callers: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Shutdown {
    pub(super) grace: Option<Span>,
    pub(super) deadline: Option<Span>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Http {
    pub(super) contended_status: Option<u16>,
}

impl File {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let file: Self = toml::from_str(text).map_err(|error| {
            // The error's own display quotes the line, which may hold a password.
            let line = error.span().map(|span| {
                let before = text.get(..span.start).unwrap_or_default();
                before.matches('\n').count() + 1
            });
            match line {
                Some(line) => format!("line {line}: {}", error.message()),
                None => error.message().to_owned(),
            }
        })?;
        if file.defaults.contradicts_itself() {
            return Err(
                "`defaults` has both `wait` and `retry_count`; they answer the same \
                        question, so keep one"
                    .to_owned(),
            );
        }
        Ok(file)
    }

    pub(super) fn over(self, mut config: Config) -> Config {
        fn set<T>(place: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *place = value;
            }
        }
        let span = |span: Option<Span>| span.map(|Span(duration)| duration);
        let mut settings = self.pool_settings;
        for (name, pool) in self.pools {
            let mut own = PoolSettings {
                vetting: pool.vetting.map(Vetting::from),
                trust_aof: pool.trust_aof,
                ..PoolSettings::default()
            };
            own.tls.ca = pool.tls_ca;
            own.tls.certificate = pool.tls_cert;
            own.tls.key = pool.tls_key;
            own.tls.server_name = pool.tls_server_name;
            if own != PoolSettings::default() {
                let settings = settings.entry(name.clone()).or_default();
                *settings = std::mem::take(settings).over(own);
            }
            config.pools.insert(name, pool.url);
        }
        for (name, own) in settings {
            let settings = config.pool_settings.entry(name).or_default();
            *settings = own.over(std::mem::take(settings));
        }
        let guard = self.restart_guard.map(|guard| match guard {
            Guard::Standard => RestartGuard::Standard,
            Guard::Strict => RestartGuard::Strict,
            Guard::Off => RestartGuard::Off,
        });
        config.restart_guard = guard.or(config.restart_guard);
        config.default_pools = self.default_pools.or(config.default_pools);
        set(&mut config.key_prefix, self.key_prefix);
        set(&mut config.max_ttl, span(self.max_ttl));
        set(&mut config.node_timeout, span(self.node_timeout));
        set(&mut config.connect_timeout, span(self.connect_timeout));
        set(&mut config.handover.most, self.waiting.handovers);
        set(
            &mut config.handover.longest,
            span(self.waiting.handover_time),
        );
        set(&mut config.max_waiting.0, self.waiting.max_callers_per_lock);
        set(&mut config.max_waiting.1, self.waiting.max_callers);
        set(&mut config.shutdown_grace, span(self.shutdown.grace));
        set(&mut config.shutdown_deadline, span(self.shutdown.deadline));
        set(
            &mut config.http.contended_status,
            self.http.contended_status,
        );
        let defaults = crate::parameters::Parameters {
            ttl: span(self.defaults.ttl),
            limit: match (self.defaults.wait, self.defaults.retry_count) {
                (Some(Waiting(wait)), _) => Some(wait.limit()),
                (None, count) => count.map(RetryLimit::Count),
            },
            retry_delay: span(self.defaults.retry_delay),
            clock_drift_factor: self.defaults.clock_drift_factor,
            min_validity: self.defaults.min_validity.map(|Least(least)| least),
            max_hold: self.defaults.max_hold.map(|Hold(renewal)| renewal),
            min_hold: span(self.defaults.min_hold),
            fencing: self.defaults.fencing,
            on_lost: self.defaults.on_lost.map(|policy| match policy {
                LostPolicy::Cancel => OnLost::Cancel,
                LostPolicy::Continue => OnLost::Continue,
            }),
            on_cancel: self.defaults.on_cancel.map(|policy| match policy {
                CancelPolicy::Release => OnCancel::Release,
                CancelPolicy::Expire => OnCancel::Expire,
            }),
        };
        config.defaults = defaults.above(config.defaults);
        config
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use redlock_core::Renewal;

    use super::*;
    use crate::parameters::MinValidity;

    #[test]
    fn every_key_of_the_file_arrives() {
        let config = Config::from_toml(
            r#"
            default_pools = ["b", "a"]
            key_prefix = "shop:"
            max_ttl = "10m"
            node_timeout = 75
            connect_timeout = "2s"
            restart_guard = "strict"
            [pools.a]
            url = "redis://h:1"
            vetting = "warn"
            trust_aof = true
            tls_ca = "ca.pem"
            tls_cert = "client.pem"
            tls_key = "client.key"
            tls_server_name = "db.example"
            [pools.b]
            url = "memory://b"
            [defaults]
            ttl = "1m 30s"
            retry_count = 5
            retry_delay = "50ms"
            clock_drift_factor = 0.02
            min_validity = 0.5
            max_hold = "unlimited"
            min_hold = "5s"
            fencing = true
            on_lost = "continue"
            on_cancel = "expire"
            [waiting]
            handovers = 8
            handover_time = "20ms"
            max_callers_per_lock = 9
            max_callers = 90
            [shutdown]
            grace = "3s"
            deadline = "4s"
            [http]
            contended_status = 409
            "#,
        )
        .unwrap();
        assert_eq!(config.pools.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(
            config.default_pools.as_deref(),
            Some(&["b".to_owned(), "a".to_owned()][..])
        );
        assert_eq!(config.key_prefix, "shop:");
        assert_eq!(config.max_ttl, Duration::from_secs(600));
        assert_eq!(config.node_timeout, Duration::from_millis(75));
        assert_eq!(config.connect_timeout, Duration::from_secs(2));
        assert_eq!(config.handover.most, 8);
        assert_eq!(config.handover.longest, Duration::from_millis(20));
        assert_eq!(config.max_waiting, (9, 90));
        assert_eq!(config.shutdown_grace, Duration::from_secs(3));
        assert_eq!(config.shutdown_deadline, Duration::from_secs(4));
        assert_eq!(config.http.contended_status, 409);
        assert_eq!(config.restart_guard, Some(RestartGuard::Strict));
        let mut settings = PoolSettings {
            vetting: Some(Vetting::Warn),
            trust_aof: Some(true),
            ..PoolSettings::default()
        };
        settings.tls.ca = Some("ca.pem".into());
        settings.tls.certificate = Some("client.pem".into());
        settings.tls.key = Some("client.key".into());
        settings.tls.server_name = Some("db.example".into());
        assert_eq!(config.pool_settings["a"], settings);
        assert_eq!(config.pool_settings.len(), 1);
        assert_eq!(config.defaults.ttl, Some(Duration::from_secs(90)));
        assert_eq!(config.defaults.limit, Some(RetryLimit::Count(5)));
        assert_eq!(config.defaults.retry_delay, Some(Duration::from_millis(50)));
        assert_eq!(config.defaults.clock_drift_factor, Some(0.02));
        assert_eq!(
            config.defaults.min_validity,
            Some(MinValidity::Fraction(0.5))
        );
        assert_eq!(config.defaults.max_hold, Some(Renewal::Unlimited));
        assert_eq!(config.defaults.min_hold, Some(Duration::from_secs(5)));
        assert_eq!(config.defaults.fencing, Some(true));
        assert_eq!(config.defaults.on_lost, Some(OnLost::Continue));
        assert_eq!(config.defaults.on_cancel, Some(OnCancel::Expire));
    }

    #[test]
    fn a_wait_is_a_time_or_forever() {
        for (text, expected) in [
            ("wait = 1500", RetryLimit::Wait(Duration::from_millis(1500))),
            ("wait = '5s'", RetryLimit::Wait(Duration::from_secs(5))),
            ("wait = 'forever'", RetryLimit::Forever),
        ] {
            let config = Config::from_toml(&format!("[defaults]\n{text}")).unwrap();
            assert_eq!(config.defaults.limit, Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_unknown_or_wrong_is_refused_at_its_line_without_secrets() {
        for (text, line, hint) in [
            (
                "\n[pools.a]\nurl = \"redis://h\"\nttl = 3",
                "line 4",
                "unknown field `ttl`",
            ),
            ("pool = 3", "line 1", "unknown field `pool`"),
            ("[defaults]\nttl = \"soon\"", "line 2", "no duration"),
            ("[defaults]\nttl = -1", "line 2", "negative"),
            ("[defaults]\nwait = 'always'", "line 2", "forever"),
            ("[defaults]\non_lost = \"ignore\"", "line 2", "cancel"),
            ("restart_guard = \"maybe\"", "line 1", "strict"),
            (
                "[pools.a]\nurl = \"redis://h\"\nvetting = \"ask\"",
                "line 3",
                "refuse",
            ),
            ("[pools.a]\nurl = \"redis://u:s3cret@h\" x", "line 2", ""),
            ("[pools.a]", "line 1", "url"),
        ] {
            let error = Config::from_toml(text).unwrap_err().to_string();
            assert!(
                error.contains(line) && error.contains(hint),
                "{text:?}: {error}"
            );
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
