//! What a server tells of itself, and whether a lock may rely on it.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::node::{NodeError, NodeErrorKind};
use crate::redis::options::Vetting;

/// The facts about the server of a connection that its ACL shows.
#[derive(Clone, Debug, Default)]
pub(in crate::redis) struct Facts {
    /// The answer to `INFO`, or the role if it is hidden, and the settings that `CONFIG GET` shows if the server's
    /// append-only file is to be trusted: lines of `name:value`.
    info: String,
    /// True if the server answered `INFO`.
    pub(in crate::redis) is_open: bool,
}

/// What a server is to its node.
#[derive(Clone, Copy)]
pub(in crate::redis) enum Place {
    /// The server is the whole node, and no other server replaces it.
    Alone { trusts_aof: bool },
    /// A replica may replace it. With the restart check on, it must be distinguishable from its replicas.
    Replaceable { is_checked: bool },
    /// The server is a master of the Cluster that is the node.
    InCluster,
}

enum Weight {
    /// No [`Vetting`] ignores it.
    Unusable,
    /// A reason not to rely on the server.
    Fault,
    Warning,
}

impl Facts {
    /// By the role in the answer to `HELLO`, as long as nothing else is known.
    pub(in crate::redis) fn of_role(role: &str) -> Self {
        Self {
            info: format!("role:{role}"),
            is_open: false,
        }
    }

    /// By the answer to `INFO`.
    pub(in crate::redis) fn of_info(info: String) -> Self {
        Self {
            info,
            is_open: true,
        }
    }

    /// Adds one setting of the configuration.
    pub(in crate::redis) fn add_setting(&mut self, name: &[u8], value: &[u8]) {
        let [name, value] = [name, value].map(String::from_utf8_lossy);
        // Writing to a string does not fail.
        let _ = write!(self.info, "\n{name}:{value}");
    }

    /// The id of the server's process.
    pub(in crate::redis) fn run_id(&self) -> Option<&str> {
        field(&self.info, "run_id")
    }

    pub(in crate::redis) fn is_replica(&self) -> bool {
        field(&self.info, "role").is_some_and(|role| role != "master")
    }

    /// Judges the server of the pool `pool`. The result is the warnings, or the error why the server must not vote.
    pub(in crate::redis) fn judge(
        &self,
        pool: &str,
        place: Place,
        vetting: Vetting,
    ) -> Result<Vec<String>, NodeError> {
        let [mut refusals, mut warnings] = [Vec::new(), Vec::new()];
        let findings = self.findings(place).into_iter();
        for (_, weight, text) in findings.filter(|(applies, ..)| *applies) {
            let refuses = match weight {
                Weight::Unusable => true,
                Weight::Fault => vetting == Vetting::Refuse,
                Weight::Warning => false,
            };
            let list = if refuses {
                &mut refusals
            } else {
                &mut warnings
            };
            list.push(format!("`{pool}` {text}"));
        }
        if refusals.is_empty() {
            Ok(warnings)
        } else {
            Err(refused(refusals.join("; ")))
        }
    }

    /// Each check, with true if it has found something.
    fn findings(&self, place: Place) -> Vec<(bool, Weight, String)> {
        use Weight::{Fault, Unusable, Warning};
        let is_alone = matches!(place, Place::Alone { .. });
        let is_replaceable = matches!(place, Place::Replaceable { .. });
        let trusts_aof = matches!(place, Place::Alone { trusts_aof: true });
        let hidden = match place {
            Place::Replaceable { is_checked: true } => Fault,
            _ => Warning,
        };
        let get = |name| field(&self.info, name).unwrap_or_default();
        let master = match (get("master_host"), get("master_port")) {
            ("", _) | (_, "") => "another server".to_owned(),
            (host, port) => format!("{host}:{port}"),
        };
        let replicas = get("connected_slaves");
        // The line exists only if the server refuses writes while its replicas are gone.
        let needs_replicas = field(&self.info, "min_slaves_good_slaves").is_some();
        let evicts = eviction(&self.info);
        let mut findings = vec![
            (
                is_alone && self.is_replica(),
                Fault,
                format!("is a replica of {master}; a lock needs a master: point the pool at one"),
            ),
            // Beside a pool that is the Cluster, it would be a second vote of the same server.
            (
                is_alone && get("cluster_enabled") == "1",
                Unusable,
                "is one server of a Redis Cluster, which has only a part of the keys; write \
                 redis+cluster:// in its URL"
                    .into(),
            ),
            (
                is_alone && !matches!(replicas, "" | "0"),
                Warning,
                format!(
                    "has {replicas} replica(s); a replica that is promoted may lack the newest locks: \
                     turn failover off, as the majority survives a dead node without it"
                ),
            ),
            (
                (is_alone || is_replaceable) && !self.is_open,
                hidden,
                "does not answer INFO, so these are not noticed: eviction, a restart from an old \
                 append-only file, a promoted replica without the newest locks, and a second pool \
                 on this server; allow `+info` in its ACL"
                    .into(),
            ),
            (
                is_replaceable && self.is_open && !needs_replicas,
                Warning,
                "takes writes without a replica that has them: cut off from the rest, a master goes \
                 on granting locks beside its successor; set min-replicas-to-write 1"
                    .into(),
            ),
            (evicts.is_some(), Fault, evicts.unwrap_or_default()),
            (
                trusts_aof && get("appendonly").is_empty(),
                Warning,
                "does not answer CONFIG GET, so it is not checked that its settings allow \
                 `trust_aof`; allow `+config|get` in its ACL"
                    .into(),
            ),
        ];
        for (setting, wanted) in [
            ("appendonly", "yes"),
            ("appendfsync", "always"),
            ("no-appendfsync-on-rewrite", "no"),
        ] {
            let value = get(setting);
            findings.push((
                trusts_aof && !value.is_empty() && value != wanted,
                Fault,
                format!(
                    "has `trust_aof`, and {setting} {value}: it may come back without its newest locks; \
                     set {setting} {wanted}, or leave `trust_aof` out"
                ),
            ));
        }
        findings
    }
}

/// The reason why the server of this `INFO` may drop locks early, if there is one.
pub(in crate::redis) fn eviction(info: &str) -> Option<String> {
    let policy = field(info, "maxmemory_policy")?;
    let is_limited = field(info, "maxmemory").is_some_and(|it| it != "0");
    (is_limited && policy != "noeviction").then(|| {
        format!(
            "evicts keys when its memory is full (maxmemory-policy {policy}), locks among them; \
             set maxmemory-policy noeviction"
        )
    })
}

/// The value of `name` in lines of `name:value`.
pub(in crate::redis) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

/// Refuses a server without `SET … NX … GET`, whatever the [`Vetting`]. A Valkey began with the version 7.2.
pub(in crate::redis) fn vet_version(version: &str) -> Result<(), NodeError> {
    let major = version.split('.').next().and_then(|it| it.parse().ok());
    match major {
        Some(7..) => Ok(()),
        _ => Err(refused(format!(
            "the server's version is {version}; locks need Redis 7.0 or later, or Valkey"
        ))),
    }
}

pub(in crate::redis) fn refused(detail: impl Into<Arc<str>>) -> NodeError {
    NodeError::unsent(NodeErrorKind::Refused, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Place = Place::Alone { trusts_aof: false };
    const REPLACEABLE: Place = Place::Replaceable { is_checked: true };
    const HEALTHY: &str = "# Server\r\nrun_id:abc\r\n# Memory\r\nmaxmemory:0\r\n\
                           maxmemory_policy:noeviction\r\nrole:master\r\nconnected_slaves:0\r\n";

    fn facts(info: &str) -> Facts {
        Facts::of_info(info.to_owned())
    }

    #[test]
    fn a_server_before_7_0_is_refused_with_its_version() {
        for version in ["7.0.0", "7.2.4", "8.4.1", "10.0.0", "255.255.255"] {
            vet_version(version).unwrap();
        }
        for version in ["6.2.14", "5.0.7", "70x", ""] {
            let refused = vet_version(version).unwrap_err();
            assert_eq!(refused.kind(), NodeErrorKind::Refused);
            let text = format!("version is {version}; locks need Redis 7.0 or later, or Valkey");
            assert!(refused.to_string().contains(&text), "{refused}");
        }
    }

    #[test]
    fn what_a_lock_cannot_rely_on_is_refused_with_the_fix_or_warned_of() {
        let replica = "role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6379\r\n";
        let evicting = "maxmemory:1000\r\nmaxmemory_policy:volatile-ttl\r\n";
        let hidden = Facts::of_role("master");
        let hidden_replica = Facts::of_role("replica");
        for (facts, place, hint) in [
            (hidden_replica, ALONE, "`a` is a replica of another server;"),
            (facts(replica), ALONE, "`a` is a replica of 10.0.0.1:6379;"),
            (facts(evicting), ALONE, "policy volatile-ttl"),
            (facts(evicting), REPLACEABLE, "policy volatile-ttl"),
            (facts(evicting), Place::InCluster, "policy volatile-ttl"),
            (hidden, REPLACEABLE, "allow `+info`"),
        ] {
            let error = facts.judge("a", place, Vetting::Refuse).unwrap_err();
            assert_eq!(error.kind(), NodeErrorKind::Refused);
            assert!(error.to_string().contains(hint), "{error}");
            let warnings = facts.judge("a", place, Vetting::Warn).unwrap();
            let is_said = warnings.iter().any(|it| it.contains(hint));
            assert!(is_said, "{warnings:?}");
        }
        let part = facts(&format!("{HEALTHY}cluster_enabled:1\r\n"));
        for vetting in [Vetting::Refuse, Vetting::Warn] {
            let refused = part.judge("a", ALONE, vetting).unwrap_err();
            assert!(refused.to_string().contains("write redis+cluster://"));
        }
    }

    #[test]
    fn what_may_be_harmless_is_warned_of() {
        let harmless = "maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\nconnected_slaves:2\r\n";
        let replicated = format!("{HEALTHY}min_slaves_good_slaves:2\r\n");
        let unchecked = Place::Replaceable { is_checked: false };
        let trusting = Place::Alone { trusts_aof: true };
        let hidden = Facts::of_role("master");
        for (facts, place, hints) in [
            (facts(HEALTHY), ALONE, &[][..]),
            (facts(harmless), ALONE, &["2 replica"]),
            (facts(&replicated), REPLACEABLE, &[]),
            (facts(HEALTHY), REPLACEABLE, &["min-replicas-to-write 1"]),
            (hidden.clone(), unchecked, &["allow `+info`"]),
            (hidden.clone(), trusting, &["`+info`", "`+config|get`"]),
            (hidden, Place::InCluster, &[]),
        ] {
            let warnings = facts.judge("a", place, Vetting::Refuse).unwrap();
            assert_eq!(warnings.len(), hints.len(), "{warnings:?}");
            for (warning, hint) in warnings.iter().zip(hints) {
                assert!(warning.contains(hint), "{warning}");
            }
        }
    }

    #[test]
    fn trusting_an_append_only_file_takes_one_that_is_always_synced() {
        let settings = [
            ("appendonly", "yes", "no"),
            ("appendfsync", "always", "everysec"),
            ("no-appendfsync-on-rewrite", "no", "yes"),
        ];
        for wrong in 0..=settings.len() {
            let mut facts = facts(HEALTHY);
            for (index, (name, good, bad)) in settings.iter().enumerate() {
                let value = if index == wrong { bad } else { good };
                facts.add_setting(name.as_bytes(), value.as_bytes());
            }
            let trusting = Place::Alone { trusts_aof: true };
            let judged = facts.judge("a", trusting, Vetting::Refuse);
            assert_eq!(judged.is_err(), wrong < settings.len());
            facts.judge("a", ALONE, Vetting::Refuse).unwrap();
        }
    }
}
