//! Vetting: decides if a lock may rely on a server, by facts that the server reports about itself.

use std::sync::Arc;

use crate::model::resource::Shown;
use crate::node::{NodeError, NodeErrorKind, Value, was_not_run};

use super::errors::{IS_REPLICA, lost};
use super::options::{RedisOptions, Vetting};

/// The fault of a server that may fail over but hides its `run_id`, if the restart check is on. The check recognizes a
/// promoted replica only by its `run_id`, which is in `INFO`.
pub(super) const HIDDEN: &str = "does not show its `run_id`, so a promoted replica without the newest locks is \
                                 not noticed; allow `+info` in its ACL";

/// Facts that a server may hide. Each has the check that is left in its place.
const HIDEABLE: [(&str, &str); 4] = [
    (
        "run_id",
        "a restart shows only if the marker is gone, and two pools on one server only by their calls",
    ),
    ("role", "a replica shows only when it refuses a write"),
    (
        "maxmemory_policy",
        "an eviction shows only by a lock that is lost",
    ),
    (APPEND_ONLY, "`trust_aof` is believed"),
];

const APPEND_ONLY: &str = "appendonly";

/// Facts that a server reports about itself, as lines of `name:value`.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerFacts(String);

impl ServerFacts {
    pub(super) fn of(answer: &Value) -> Self {
        let mut facts = Self::default();
        facts.add(answer);
        facts
    }

    /// Adds the facts in an answer: lines of text, or names and values. The first value of a name counts.
    pub(super) fn add(&mut self, answer: &Value) {
        if let Value::Text(lines) = answer {
            self.0.extend([&String::from_utf8_lossy(lines), "\n"]);
        }
        for (name, value) in pairs(answer) {
            let [name, value] = [name, value].map(String::from_utf8_lossy);
            self.0.extend([&name, ":", &value, "\n"]);
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut lines = self.0.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
    }

    /// Returns the id of the server's process, or `None` if the server hides `INFO`.
    pub(super) fn run_id(&self) -> Option<&str> {
        self.get("run_id")
    }

    /// True if the server answered `INFO`. `HELLO` has none of these facts.
    pub(super) fn has_info(&self) -> bool {
        let facts = ["run_id", "redis_version", "maxmemory_policy"];
        facts.iter().any(|fact| self.get(fact).is_some())
    }

    /// Returns the facts that the server hides, each with what is checked instead.
    pub(super) fn hidden(&self, trusts_aof: bool) -> String {
        let hidden = HIDEABLE
            .iter()
            .filter(|(fact, _)| self.get(fact).is_none() && (trusts_aof || *fact != APPEND_ONLY));
        let hidden = hidden.map(|(fact, left)| format!("{fact}: {left}"));
        hidden.collect::<Vec<_>>().join("; ")
    }

    pub(super) fn is_replica(&self) -> bool {
        self.get("role").is_some_and(|role| role != "master")
    }

    /// Returns the faults of a server that is the whole node, and that no other server replaces.
    pub(super) fn faults_alone(&self, trusts_aof: bool) -> Vec<String> {
        let mut faults = Vec::new();
        if self.is_replica() {
            let get = |name| self.get(name).unwrap_or("?");
            let (host, port) = (get("master_host"), get("master_port"));
            faults.push(format!(
                "is a replica of {host}:{port}; a lock needs a master: point the pool at one"
            ));
        }
        if self.get("cluster_enabled") == Some("1") {
            // The server would vote twice if another pool is its Cluster.
            let part = "is one server of a Redis Cluster, which has only a part of the keys; write redis+cluster:// in \
                        its URL";
            faults.push(part.into());
        }
        for (setting, wanted) in [
            (APPEND_ONLY, "yes"),
            ("appendfsync", "always"),
            ("no-appendfsync-on-rewrite", "no"),
        ] {
            let value = self.get(setting).unwrap_or(wanted);
            if trusts_aof && value != wanted {
                faults.push(format!(
                    "has `trust_aof`, and {setting} {value}: it may come back without its newest locks; set {setting} \
                     {wanted}, or leave `trust_aof` out"
                ));
            }
        }
        faults
    }

    /// Returns the fault of a server that may evict keys, and locks with them. A limit that is hidden counts as one.
    pub(super) fn eviction(&self) -> Option<String> {
        let policy = self.get("maxmemory_policy")?;
        let is_limited = self.get("maxmemory").is_none_or(|it| it != "0");
        (is_limited && policy != "noeviction").then(|| {
            format!(
                "evicts keys when its memory is full (maxmemory-policy {policy}), locks among them; \
                 set maxmemory-policy noeviction: the guide's page operate/managed has the way of each service"
            )
        })
    }
}

/// The role of a server in its node. It selects the rules for each connection and each heartbeat.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerRole {
    /// The server is the whole node. No other server replaces it.
    Alone,
    /// Sentinels name the server as their master.
    NamedMaster,
    /// The server is a master of a Cluster.
    ClusterMaster,
}

impl ServerRole {
    /// Vets a server by its `facts` and by `others`, faults that are already known. A faulty server is refused with an
    /// error. If the options only warn, returns the faults for the log instead.
    pub(super) fn judge(
        self,
        pool: &str,
        options: &RedisOptions,
        facts: &ServerFacts,
        others: impl IntoIterator<Item = String>,
    ) -> Result<Option<String>, NodeError> {
        let mut faults: Vec<_> = others.into_iter().chain(facts.eviction()).collect();
        if self == Self::Alone {
            faults.extend(facts.faults_alone(options.trust_aof));
        } else if facts.is_replica() {
            // A failover is under way: this error is temporary, and the driver connects again.
            return Err(lost(IS_REPLICA));
        }
        if faults.is_empty() {
            return Ok(None);
        }
        let reason = format!("`{pool}` {}", faults.join("; "));
        match options.vetting {
            Vetting::Refuse => Err(refused_server(reason)),
            Vetting::Warn => Ok(Some(reason)),
        }
    }
}

/// True if `error` means that this client can never run the command. Its ACL forbids the command, or the server has
/// renamed or disabled it. `LOADING` and similar errors are temporary, so they return false.
pub(super) fn is_hidden(error: &[u8]) -> bool {
    error.starts_with(b"NOPERM") || !was_not_run(error)
}

/// Refuses a server that is too old for `SET … NX … GET`, even if the [`Vetting`] only warns. Every Valkey is new
/// enough, because its versions begin at 7.2. If the server hides its version, `probe` decides, its answer to such a
/// `SET` without a valid time.
pub(super) fn vet_version(version: Option<&str>, probe: &Value) -> Result<(), NodeError> {
    let major = version.map(|it| it.split('.').next().and_then(|it| it.parse().ok()));
    let is_unknown = matches!(probe, Value::Error(text) if text.starts_with(b"ERR syntax"));
    match major {
        None | Some(Some(7..)) if !is_unknown => Ok(()),
        _ => Err(refused_server(format!(
            "the server's version is {}; locks need Redis 7.0 or later, or Valkey, for SET with NX and GET",
            Shown(version.unwrap_or("hidden").as_bytes())
        ))),
    }
}

/// Returns the pairs of names and values in a flat list.
pub(super) fn pairs(value: &Value) -> impl Iterator<Item = (&[u8], &[u8])> {
    let words = match value {
        Value::List(words) => &words[..],
        _ => &[],
    };
    words.chunks(2).filter_map(|pair| match pair {
        [Value::Text(name), Value::Text(value)] => Some((&**name, &**value)),
        _ => None,
    })
}

pub(super) fn refused_server(detail: impl Into<Arc<str>>) -> NodeError {
    NodeError::unsent(NodeErrorKind::Refused, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_hidden_if_no_later_try_can_find_it() {
        for error in [
            "NOPERM User app has no permissions to run the 'info' command",
            "ERR unknown command 'INFO', with args beginning with: ",
            "ERR unknown command `HELLO`",
            "unsupported command 'info'",
        ] {
            assert!(is_hidden(error.as_bytes()), "{error}");
        }
        for error in [
            "LOADING Redis is loading the dataset in memory",
            "NOAUTH Authentication required.",
            "BUSY Redis is busy running a script.",
        ] {
            assert!(!is_hidden(error.as_bytes()), "{error}");
        }
    }

    #[test]
    fn a_server_before_7_0_is_refused_with_its_version() {
        for version in ["7.0.0", "7.2.4", "8.4.1", "10.0.0", "255.255.255"] {
            vet_version(Some(version), &Value::Nil).unwrap();
        }
        for version in ["6.2.14", "5.0.7", "70x", ""] {
            let refused = vet_version(Some(version), &Value::Nil).unwrap_err();
            assert_eq!(refused.kind(), NodeErrorKind::Refused);
            let text = format!(
                "version is {version}; locks need Redis 7.0 or later, or Valkey, for SET with NX"
            );
            assert!(refused.to_string().contains(&text), "{refused}");
        }
    }

    #[test]
    fn a_lock_cannot_rely_on_a_replica_or_a_part_of_a_cluster() {
        let healthy = "# Server\r\nrun_id:abc\r\nrole:master\r\ncluster_enabled:0\r\n";
        let replica = "role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6379\r\n";
        for (info, hint) in [
            (healthy, None),
            (replica, Some("is a replica of 10.0.0.1:6379;")),
            ("role:replica", Some("is a replica of ")),
            ("cluster_enabled:1", Some("write redis+cluster://")),
        ] {
            let faults = ServerFacts::of(&Value::text(info.as_bytes())).faults_alone(false);
            assert_eq!(faults.len(), usize::from(hint.is_some()), "{faults:?}");
            assert!(faults.iter().all(|it| it.contains(hint.unwrap())));
        }
    }

    #[test]
    fn keys_are_evicted_only_with_a_limit_and_a_policy() {
        for (limit, policy, evicts) in [
            ("maxmemory:0", "allkeys-lru", false),
            ("maxmemory:1000", "noeviction", false),
            ("maxmemory:1000", "volatile-ttl", true),
            ("", "volatile-lru", true),
        ] {
            let info = format!("{limit}\r\nmaxmemory_policy:{policy}\r\n");
            let eviction = ServerFacts::of(&Value::text(info.as_bytes())).eviction();
            assert_eq!(eviction.is_some(), evicts);
            assert!(eviction.is_none_or(|it| it.contains(policy)));
        }
    }

    #[test]
    fn hidden_facts_are_named_with_what_is_left() {
        let shown = "run_id:1\r\nrole:master\r\nmaxmemory_policy:noeviction\r\nappendonly:yes\r\n";
        for (hides, trusts_aof, named) in [
            ("", true, None),
            ("run_id", false, Some("run_id: a restart")),
            ("role", false, Some("role: a replica")),
            (
                "maxmemory_policy",
                false,
                Some("maxmemory_policy: an eviction"),
            ),
            ("appendonly", false, None),
            ("appendonly", true, Some("appendonly: `trust_aof`")),
        ] {
            let lines = shown
                .lines()
                .filter(|it| it.split(':').next() != Some(hides));
            let facts = lines.collect::<Vec<_>>().join("\r\n");
            let hidden = ServerFacts::of(&Value::text(facts.as_bytes())).hidden(trusts_aof);
            assert!(
                named.map_or(hidden.is_empty(), |it| hidden.starts_with(it)),
                "{hidden}"
            );
            assert!(!hidden.contains(';'), "{hidden}");
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
            let words = settings.iter().enumerate();
            let words = words.flat_map(|(index, (name, good, bad))| {
                [name, if index == wrong { bad } else { good }]
            });
            let words = words.map(|word| Value::text(word.as_bytes()));
            let facts = ServerFacts::of(&Value::List(words.collect()));
            let faults = facts.faults_alone(true);
            assert_eq!(faults.len(), usize::from(wrong < settings.len()));
            assert!(facts.faults_alone(false).is_empty());
        }
    }
}
