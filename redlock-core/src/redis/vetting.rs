//! What a server tells of itself, and whether a lock may rely on it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use crate::node::{NodeError, NodeErrorKind};
use crate::redis::options::Vetting;

/// The facts about the server of a connection that its ACL shows.
#[expect(
    clippy::struct_excessive_bools,
    reason = "answers to as many questions"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::redis) struct Facts {
    /// The id of the server's process.
    pub(in crate::redis) run_id: Option<String>,
    /// How long that has been up.
    pub(in crate::redis) uptime: Option<Duration>,
    is_replica: bool,
    master: Option<String>,
    replicas: u32,
    /// True if it refuses writes while its replicas are gone (`min-replicas-to-write`).
    needs_replicas: bool,
    max_memory: u64,
    max_memory_policy: Option<String>,
    /// True if it belongs to a Redis Cluster.
    is_clustered: bool,
    /// True if it answered `INFO`.
    is_open: bool,
    /// The answers to `CONFIG GET`, if the server's append-only file is to be trusted.
    persistence: Option<Persistence>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Persistence {
    append_only: Option<String>,
    fsync: Option<String>,
    none_on_rewrite: Option<String>,
}

impl Facts {
    pub(in crate::redis) fn of_role(is_replica: bool) -> Self {
        Self {
            is_replica,
            ..Self::default()
        }
    }

    /// Reads the answer to `INFO`.
    pub(in crate::redis) fn read_info(&mut self, text: &str) {
        self.is_open = true;
        let mut master_host = None;
        let mut master_port = None;
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            match name {
                "run_id" => self.run_id = Some(value.to_owned()),
                "uptime_in_seconds" => self.uptime = value.parse().ok().map(Duration::from_secs),
                "role" => self.is_replica = value != "master",
                "master_host" => master_host = Some(value),
                "master_port" => master_port = Some(value),
                "connected_slaves" => self.replicas = value.parse().unwrap_or(0),
                // The line exists only if the server counts them.
                "min_slaves_good_slaves" => self.needs_replicas = true,
                "maxmemory" => self.max_memory = value.parse().unwrap_or(0),
                "cluster_enabled" => self.is_clustered = value == "1",
                "maxmemory_policy" => self.max_memory_policy = Some(value.to_owned()),
                _ => {}
            }
        }
        if let (Some(host), Some(port)) = (master_host, master_port) {
            self.master = Some(format!("{host}:{port}"));
        }
    }

    /// Reads one setting of the configuration.
    pub(in crate::redis) fn read_config(&mut self, name: &[u8], value: &[u8]) {
        let persistence = self.persistence.get_or_insert_default();
        let value = Some(String::from_utf8_lossy(value).into_owned());
        match name {
            b"appendonly" => persistence.append_only = value,
            b"appendfsync" => persistence.fsync = value,
            b"no-appendfsync-on-rewrite" => persistence.none_on_rewrite = value,
            _ => {}
        }
    }

    pub(in crate::redis) fn is_replica(&self) -> bool {
        self.is_replica
    }

    /// True if the server answered `INFO`.
    pub(in crate::redis) fn is_open(&self) -> bool {
        self.is_open
    }

    /// The faults and warnings for the server of the pool `pool`.
    pub(in crate::redis) fn judge(&self, pool: &str, trusts_aof: bool) -> Judgement {
        let mut judgement = Judgement::default();
        if self.is_replica {
            let of = self.master.as_deref().unwrap_or("another server");
            judgement.faults.push(format!(
                "`{pool}` is a replica of {of}; a lock needs a master: point the pool at one",
            ));
        }
        if self.is_clustered {
            // Beside a pool that is the Cluster, it would be a second vote of the same server.
            judgement.unusable.push(format!(
                "`{pool}` is one server of a Redis Cluster, which has only a part of the keys; write \
                 redis+cluster:// in its URL",
            ));
        }
        judgement.faults.extend(self.eviction(pool));
        if self.replicas > 0 {
            let mut text = format!("`{pool}` has {} replica", self.replicas);
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "{}; a replica that is promoted may lack the newest locks: turn failover off, \
                 as the majority survives a dead node without it",
                if self.replicas == 1 { "" } else { "s" },
            );
            judgement.warnings.push(text);
        }
        if !self.is_open {
            judgement.warnings.push(format!(
                "`{pool}` does not answer INFO, so these are not noticed: eviction, a restart from \
                 an old append-only file, and a second pool on this server; allow `+info` in its \
                 ACL",
            ));
        }
        if trusts_aof {
            self.judge_persistence(pool, &mut judgement);
        }
        judgement
    }

    /// The same for a master that a replica may replace. With the restart check on, the master must be
    /// distinguishable from its replicas.
    pub(in crate::redis) fn judge_replaceable(&self, pool: &str, is_checked: bool) -> Judgement {
        let mut judgement = Judgement::default();
        judgement.faults.extend(self.eviction(pool));
        if !self.is_open {
            let text = format!(
                "`{pool}` does not answer INFO, so a promoted replica, which may lack the newest \
                 locks, is not noticed; allow `+info` in its ACL",
            );
            if is_checked {
                judgement.faults.push(text);
            } else {
                judgement.warnings.push(text);
            }
        } else if !self.needs_replicas {
            judgement.warnings.push(format!(
                "`{pool}` takes writes without a replica that has them: cut off from the rest, a \
                 master goes on granting locks beside its successor; set min-replicas-to-write 1",
            ));
        }
        judgement
    }

    /// The same for a server of the Redis Cluster `pool`.
    pub(in crate::redis) fn judge_part(&self, pool: &str) -> Judgement {
        Judgement {
            faults: self.eviction(pool).into_iter().collect(),
            ..Judgement::default()
        }
    }

    /// The reason why the server may drop locks early, if there is one.
    pub(in crate::redis) fn eviction(&self, pool: &str) -> Option<String> {
        let policy = self.max_memory_policy.as_deref().unwrap_or("noeviction");
        (self.max_memory > 0 && policy != "noeviction").then(|| {
            format!(
                "`{pool}` evicts keys when its memory is full (maxmemory-policy {policy}), locks \
                 among them; set maxmemory-policy noeviction",
            )
        })
    }

    fn judge_persistence(&self, pool: &str, judgement: &mut Judgement) {
        let Some(persistence) = &self.persistence else {
            judgement.warnings.push(format!(
                "`{pool}` does not answer CONFIG GET, so it is not checked that its settings allow \
                 `trust_aof`; allow `+config|get` in its ACL",
            ));
            return;
        };
        for (setting, value, wanted) in [
            ("appendonly", &persistence.append_only, "yes"),
            ("appendfsync", &persistence.fsync, "always"),
            (
                "no-appendfsync-on-rewrite",
                &persistence.none_on_rewrite,
                "no",
            ),
        ] {
            match value.as_deref() {
                Some(value) if value != wanted => judgement.faults.push(format!(
                    "`{pool}` has `trust_aof`, and {setting} {value}: it may come back without its \
                     newest locks; set {setting} {wanted}, or leave `trust_aof` out",
                )),
                _ => {}
            }
        }
    }
}

/// See [`Facts::judge`].
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::redis) struct Judgement {
    /// Reasons that no [`Vetting`] ignores.
    pub(in crate::redis) unusable: Vec<String>,
    /// Reasons not to rely on the server.
    pub(in crate::redis) faults: Vec<String>,
    pub(in crate::redis) warnings: Vec<String>,
}

impl Judgement {
    /// The warnings, or the error why the server must not vote.
    pub(in crate::redis) fn under(mut self, vetting: Vetting) -> Result<Vec<String>, NodeError> {
        if !self.unusable.is_empty() {
            return Err(refused(self.unusable.join("; ")));
        }
        match vetting {
            Vetting::Refuse if !self.faults.is_empty() => Err(refused(self.faults.join("; "))),
            Vetting::Refuse => Ok(self.warnings),
            Vetting::Warn => {
                self.faults.append(&mut self.warnings);
                Ok(self.faults)
            }
        }
    }
}

/// Refuses a server without `SET … NX … GET`, whatever the [`Vetting`]. A Valkey began with the version 7.2.
pub(in crate::redis) fn vet_version(version: &str) -> Result<(), NodeError> {
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse().ok());
    match major {
        Some(7..) => Ok(()),
        _ => Err(too_old(version)),
    }
}

/// The error for a server of this version.
pub(in crate::redis) fn too_old(version: &str) -> NodeError {
    refused(format!(
        "the server's version is {version}; locks need Redis 7.0 or later, or Valkey"
    ))
}

pub(in crate::redis) fn refused(detail: impl Into<Arc<str>>) -> NodeError {
    NodeError::unsent(NodeErrorKind::Refused, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEALTHY: &str = "# Server\r\nrun_id:abc\r\n# Memory\r\nmaxmemory:0\r\n\
                           maxmemory_policy:noeviction\r\nrole:master\r\nconnected_slaves:0\r\n";

    fn facts(info: &str) -> Facts {
        let mut facts = Facts::default();
        facts.read_info(info);
        facts
    }

    #[test]
    fn a_part_of_a_cluster_is_refused_whatever_the_vetting() {
        let mut facts = Facts::default();
        facts.read_info(&format!("{HEALTHY}cluster_enabled:1\r\n"));
        for vetting in [Vetting::Refuse, Vetting::Warn] {
            let refused = facts.judge("a", false).under(vetting).unwrap_err();
            assert!(
                refused.to_string().contains("write redis+cluster://"),
                "{refused}"
            );
        }
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
    fn a_plain_master_is_beyond_reproach() {
        let facts = facts(HEALTHY);
        assert_eq!(facts.run_id.as_deref(), Some("abc"));
        assert_eq!(facts.judge("a", false), Judgement::default());
    }

    #[test]
    fn what_a_lock_cannot_rely_on_is_refused_with_the_fix_or_warned_of() {
        for (info, hint) in [
            (
                "role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6379\r\n",
                "`a` is a replica of 10.0.0.1:6379; a lock needs a master",
            ),
            (
                "maxmemory:1000\r\nmaxmemory_policy:allkeys-lru\r\n",
                "set maxmemory-policy noeviction",
            ),
            (
                "maxmemory:1000\r\nmaxmemory_policy:volatile-ttl\r\n",
                "volatile-ttl",
            ),
        ] {
            let facts = facts(info);
            let error = facts.judge("a", false).under(Vetting::Refuse).unwrap_err();
            assert_eq!(error.kind(), NodeErrorKind::Refused);
            assert!(error.to_string().contains(hint), "{error}");
            let warnings = facts.judge("a", false).under(Vetting::Warn).unwrap();
            assert!(warnings[0].contains(hint), "{warnings:?}");
        }
        let harmless =
            facts("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\nconnected_slaves:2\r\n");
        let warnings = harmless.judge("a", false).under(Vetting::Refuse).unwrap();
        assert!(
            warnings.len() == 1 && warnings[0].contains("2 replicas"),
            "{warnings:?}"
        );
    }

    #[test]
    fn what_the_acl_hides_is_said() {
        let hidden = Facts::of_role(false).judge("a", true);
        assert!(
            hidden.faults.is_empty() && hidden.warnings.len() == 2,
            "{hidden:?}"
        );
        assert_eq!(Facts::of_role(true).judge("a", false).faults.len(), 1);
    }

    #[test]
    fn a_master_that_is_replaced_needs_its_replicas_and_shows_which_server_it_is() {
        let replicated = "connected_slaves:2\r\nmin_slaves_good_slaves:2\r\n";
        let good = facts(&format!("{HEALTHY}{replicated}"));
        assert_eq!(good.judge_replaceable("a", true), Judgement::default());

        let alone = facts(HEALTHY).judge_replaceable("a", true);
        assert!(alone.faults.is_empty(), "{alone:?}");
        assert!(
            alone.warnings[0].contains("min-replicas-to-write 1"),
            "{alone:?}"
        );

        let hidden = Facts::of_role(false);
        assert_eq!(hidden.judge_replaceable("a", true).faults.len(), 1);
        assert_eq!(hidden.judge_replaceable("a", false).warnings.len(), 1);

        let evicting = facts("maxmemory:1\r\nmaxmemory_policy:allkeys-lru\r\n");
        assert_eq!(evicting.judge_replaceable("a", true).faults.len(), 1);
    }

    #[test]
    fn trusting_an_append_only_file_takes_one_that_is_always_synced() {
        let settings = [
            (&b"appendonly"[..], &b"yes"[..], &b"no"[..]),
            (b"appendfsync", b"always", b"everysec"),
            (b"no-appendfsync-on-rewrite", b"no", b"yes"),
        ];
        for wrong in 0..=settings.len() {
            let mut facts = facts(HEALTHY);
            for (index, (name, good, bad)) in settings.iter().enumerate() {
                facts.read_config(name, if index == wrong { bad } else { good });
            }
            let faults = facts.judge("a", true).faults;
            assert_eq!(
                faults.len(),
                usize::from(wrong < settings.len()),
                "{faults:?}"
            );
            assert!(facts.judge("a", false).faults.is_empty());
        }
    }
}
