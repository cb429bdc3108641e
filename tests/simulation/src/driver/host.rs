//! A server: what it answers to which command.

use std::slice::from_ref;

use redlock_core::redis::scripts;

use super::EPOCH_MICROS;
use super::keys::Terms;
use super::log::{Did, Kind, Served};
use super::resp::Reply;
use super::slots::slot_of;
use super::town::{Connection, Group, Role, Town};

/// A command's words.
type Words<'a> = &'a [Vec<u8>];

impl Town {
    /// Serves a command that came by `connection`, and sends the answer.
    pub(super) fn serve(&mut self, connection: u64, words: Words<'_>) {
        let host = self.connections[&connection].host.clone();
        let now = self.now();
        let over = self.hosts.get_mut(&host).expect("a host").keys.expire(now);
        self.invalidate(&host, &over);
        let reply = self.reply(&host, connection, words);
        self.send(connection, &reply);
    }

    fn reply(&mut self, host: &str, connection: u64, words: Words<'_>) -> Reply {
        let this = &self.hosts[host];
        let (version, role, now) = (this.version, this.role, self.now());
        let text: Vec<_> = words
            .iter()
            .map(|word| String::from_utf8_lossy(word))
            .collect();
        let text: Vec<&str> = text.iter().map(|word| &**word).collect();
        let unknown = || Reply::Error(format!("ERR unknown command '{}'", text[0]));
        match &text[..] {
            ["HELLO", ..] if version < 6 => unknown(),
            ["HELLO", protocol, ..] => {
                let role = match role {
                    Role::Replica => "replica",
                    Role::Master | Role::Sentinel => "master",
                };
                let (server, version) = match version {
                    9 => ("valkey", "9.0.0".to_owned()),
                    8 => ("redis", "8.4.0".to_owned()),
                    older => ("redis", format!("{older}.0.0")),
                };
                let mut hello = vec![Reply::text("server"), Reply::text(server)];
                hello.extend([Reply::text("version"), Reply::text(version)]);
                hello.extend([Reply::text("role"), Reply::text(role)]);
                hello.extend([Reply::text("modules"), Reply::Array(Vec::new())]);
                if *protocol == "3" {
                    Reply::Map(hello)
                } else {
                    Reply::Array(hello)
                }
            }
            ["CLIENT", "TRACKING", "ON"] if version >= 6 => {
                self.asked(connection).is_tracking = true;
                Reply::Ok
            }
            ["INFO"] | ["INFO", "memory"] => Reply::text(self.info(host)),
            ["SET", _, _, "XX", "PX", _] => {
                // Whether it would set a key.
                let elsewhere = self.misplaced(host, slot_of(&words[1]), &words[1..2], false);
                let refusal = elsewhere.or_else(|| self.refusal(host, Kind::Acquire));
                refusal.map_or(Reply::Nil, Reply::Error)
            }
            ["TIME"] => time(now),
            ["ASKING"] => {
                self.asked(connection).is_asking = true;
                Reply::Ok
            }
            ["SUBSCRIBE", channel] if role == Role::Sentinel => {
                self.asked(connection).is_subscribed = true;
                let words = [
                    Reply::text("subscribe"),
                    Reply::text(channel),
                    Reply::Int(1),
                ];
                Reply::Array(words.into())
            }
            ["SENTINEL", what, _] if role == Role::Sentinel => self.sentinel(host, what),
            ["CLUSTER", what] => self.cluster(host, what),
            ["PTTL", _] => self.operation(host, connection, Kind::Inspect, &words[1..], &[], &[]),
            ["SET", _, _, "NX", "PX", _] | ["SET", _, _, "NX", "PX", _, "GET"] => {
                if words.len() == 7 && version < 7 {
                    return Reply::Error("ERR syntax error".to_owned());
                }
                let arguments = [words[2].clone(), words[5].clone()];
                let (key, is_naming) = (&words[1..2], words.len() == 7);
                let reply = self.operation(host, connection, Kind::Acquire, key, &[], &arguments);
                match reply {
                    Reply::Int(1) if is_naming => Reply::Nil,
                    Reply::Int(1) => Reply::Ok,
                    Reply::Bulk(_) if !is_naming => Reply::Nil,
                    other => other,
                }
            }
            ["DELIFEQ", _, _] if version == 9 => self.compare_and_delete(host, connection, words),
            ["DELEX", _, "IFEQ", _] if version == 8 => {
                self.compare_and_delete(host, connection, words)
            }
            ["EVAL" | "EVALSHA", ..] => self.script(host, connection, words),
            _ => unknown(),
        }
    }

    /// The connection that a command came by.
    pub(super) fn asked(&mut self, connection: u64) -> &mut Connection {
        self.connections.get_mut(&connection).expect("it is there")
    }

    fn info(&self, name: &str) -> String {
        let host = &self.hosts[name];
        let role = if host.role == Role::Replica {
            "slave"
        } else {
            "master"
        };
        let is_clustered = matches!(self.groups[host.group], Group::Cluster(_));
        format!(
            "# Server\r\nrun_id:{:016x}\r\nrole:{role}\r\ncluster_enabled:{}\r\nmaxmemory:0\r\n",
            host.run_id,
            u8::from(is_clustered),
        )
    }

    fn script(&mut self, host: &str, connection: u64, words: Words<'_>) -> Reply {
        let is_text = words[0] == b"EVAL";
        let count = String::from_utf8_lossy(&words[2]).parse().unwrap_or(0);
        let (keys, arguments) = words[3..].split_at(count);
        let script = scripts().find_map(|(name, text)| {
            let sha = sha1_smol::Sha1::from(text).digest().to_string();
            let is_it = if is_text {
                text.as_bytes()
            } else {
                sha.as_bytes()
            } == words[1];
            is_it.then_some((name, sha))
        });
        let this = self.hosts.get_mut(host).expect("a host");
        let Some((name, sha)) = script else {
            let is_permissions = words[1].windows(12).any(|part| part == b":permissions");
            return match (is_text, is_permissions) {
                (false, _) => Reply::Error("NOSCRIPT No matching script.".to_owned()),
                (true, true) => Reply::Int(1),
                (true, false) => self.check(host, keys, arguments),
            };
        };
        if is_text {
            this.scripts.insert(sha);
        } else if !this.scripts.contains(&sha) {
            self.count("noscript");
            return Reply::Error("NOSCRIPT No matching script.".to_owned());
        }
        if keys.is_empty() {
            return Reply::Int(1);
        }
        if name == "extend-each" {
            return self.extend_each(host, connection, keys, arguments);
        }
        let kind = match name {
            "acquire-all" | "acquire-fenced" => Kind::Acquire,
            "confirm" => Kind::Confirm,
            "extend" => Kind::Extend,
            "restore" => Kind::Restore,
            "shorten" => Kind::Shorten,
            "peek" => Kind::Inspect,
            _ => Kind::Release,
        };
        let is_counting = matches!(name, "acquire-fenced" | "confirm");
        let locks = if is_counting {
            keys.len() / 2
        } else {
            keys.len()
        };
        let (locks, counters) = keys.split_at(locks);
        let (counters, marker) = counters.split_at(if is_counting { locks.len() } else { 0 });
        if let Some(marker) = marker.first() {
            let now = (self.now() + EPOCH_MICROS) / 1000;
            let text = self.hosts[host]
                .keys
                .get(marker)
                .map(String::from_utf8_lossy);
            let ends = text.and_then(|text| text.rsplit(' ').next()?.parse::<u64>().ok());
            if ends.is_none_or(|ends| ends > now) {
                self.count("nomarker");
                return Reply::Error("NOMARKER".to_owned());
            }
        }
        self.operation(host, connection, kind, locks, counters, arguments)
    }

    /// Extends the locks that have the tokens behind the ttl, one key each.
    fn extend_each(
        &mut self,
        host: &str,
        connection: u64,
        keys: Words<'_>,
        arguments: Words<'_>,
    ) -> Reply {
        self.count("batches of extensions");
        let mut each = Vec::new();
        for (key, token) in keys.iter().zip(&arguments[1..]) {
            let this = &self.hosts[host].keys;
            let is_ours = this.get(key) == Some(&token[..]) && this.left(key, self.now()) > 0;
            let (key, terms) = (from_ref(key), [token.clone(), arguments[0].clone()]);
            each.push(if is_ours { b'1' } else { b'0' });
            if is_ours
                && let Reply::Error(error) =
                    self.operation(host, connection, Kind::Extend, key, &[], &terms)
            {
                return Reply::Error(error);
            }
        }
        if each.contains(&b'0') {
            self.count("extensions asked for again");
            return Reply::Bulk(each);
        }
        Reply::Int(1)
    }

    /// The restart check's question.
    fn check(&mut self, host: &str, keys: Words<'_>, arguments: Words<'_>) -> Reply {
        let now = self.now();
        let this = self.hosts.get_mut(host).expect("a host");
        if this.role == Role::Replica {
            return Reply::Error(
                "READONLY You can't write against a read only replica.".to_owned(),
            );
        }
        // The second version is a second line, with a key of its own.
        let second = [&keys[0][..], b":2"].concat();
        let more = this.keys.get(&second).map(|more| [b"\n", more].concat());
        let mut marker = this.keys.get(&keys[0]).map(<[u8]>::to_vec);
        if let (Some(marker), Some(more)) = (&mut marker, more) {
            marker.extend(more);
        }
        if let [expected, new, not_after] = arguments {
            let found = marker
                .as_ref()
                .map_or(b"-".to_vec(), |it| [b"=", &it[..]].concat());
            let not_after: u64 = String::from_utf8_lossy(not_after).parse().unwrap_or(0);
            if found == *expected && (now + EPOCH_MICROS) / 1000 <= not_after {
                let mut lines = new.splitn(2, |byte| *byte == b'\n');
                this.keys
                    .set(&keys[0], lines.next().unwrap_or_default(), None);
                if let Some(more) = lines.next() {
                    this.keys.set(&second, more, None);
                }
                marker = Some(new.clone());
            }
        }
        let Reply::Array(mut answer) = time(now) else {
            unreachable!("a list")
        };
        answer.push(marker.map_or(Reply::Nil, Reply::Bulk));
        Reply::Array(answer)
    }

    /// Everything that is about locks, with the answer of a script.
    pub(super) fn operation(
        &mut self,
        host: &str,
        connection: u64,
        kind: Kind,
        locks: Words<'_>,
        counters: Words<'_>,
        arguments: Words<'_>,
    ) -> Reply {
        let terms = terms(kind, !counters.is_empty(), arguments);
        let now = self.now();
        let is_asking = std::mem::take(&mut self.asked(connection).is_asking);
        let refusal = self
            .misplaced(host, slot_of(&locks[0]), locks, is_asking)
            .or_else(|| self.refusal(host, kind));
        let this = self.hosts.get_mut(host).expect("a host");
        let did = match refusal {
            Some(error) => Did::Error(error),
            None => this.keys.serve(kind, (locks, counters), &terms, now),
        };
        let first = this.keys.first(locks);
        let (is_succeeded, version) = (this.successor.is_some(), this.version);
        let asked = &self.connections[&connection];
        let (is_late, is_tracking) = (asked.pipe.is_left(), asked.is_tracking);
        let served = Served {
            at: now,
            host: host.to_owned(),
            connection,
            is_late,
            is_in_vain: is_succeeded,
            kind,
            key: locks[0].clone(),
            token: terms.token.to_vec(),
            number: terms.number,
            did: did.clone(),
        };
        self.note(served);
        let is_changed = matches!(did, Did::Granted(_)) && kind != Kind::Confirm;
        if is_changed {
            self.invalidate(host, locks);
        } else if kind == Kind::Inspect && is_tracking {
            let this = self.hosts.get_mut(host).expect("a host");
            this.readers
                .entry(locks[0].clone())
                .or_default()
                .insert(connection);
        }
        match (kind, did) {
            (_, Did::Error(error)) if version < 7 && error.starts_with("READONLY") => {
                Reply::Error(format!("ERR Error running script: -{error}"))
            }
            (_, Did::Error(error)) => Reply::Error(error),
            (_, Did::Granted(Some(count))) => Reply::Int(i64::try_from(count).unwrap_or(i64::MAX)),
            (_, Did::Granted(None)) => Reply::Int(1),
            (Kind::Acquire, Did::Held(Some(by))) => Reply::Bulk(by),
            (_, Did::Held(_)) => Reply::Int(0),
            (_, Did::Absent) => Reply::Int(-1),
            (_, Did::Left(left)) if locks.len() == 1 => Reply::Int(left),
            (_, Did::Left(left)) => first.map_or(Reply::Nil, |(place, value)| {
                Reply::Bulk([format!("{place} {left} ").as_bytes(), &value].concat())
            }),
        }
    }

    /// Why the server does not do it, apart from whose slot it is.
    fn refusal(&mut self, name: &str, kind: Kind) -> Option<String> {
        let now = self.now();
        let host = &self.hosts[name];
        if host.role == Role::Replica && kind != Kind::Inspect {
            let text = "READONLY You can't write against a read only replica.";
            return Some(text.to_owned());
        }
        let (error, until) = host.trouble?;
        // Whoever waits is not told then, and asks again when it has been refused.
        if now >= until || self.is_calm || kind == Kind::Inspect {
            return None;
        }
        self.count("refused");
        Some(error.to_owned())
    }

    fn note(&mut self, served: Served) {
        if served.is_late {
            self.count("served late");
        }
        if served.is_in_vain {
            self.count("served in vain");
        }
        if let Some(trace) = &mut self.trace {
            trace.push(served.to_string());
        }
        self.served.push(served);
    }
}

fn time(now: u64) -> Reply {
    let now = now + EPOCH_MICROS;
    let (seconds, micros) = (now / 1_000_000, now % 1_000_000);
    Reply::texts(&[&seconds.to_string(), &micros.to_string()])
}

/// What the arguments of a script mean.
fn terms(kind: Kind, is_fenced: bool, arguments: Words<'_>) -> Terms<'_> {
    let number = |at: usize| {
        let digits = arguments.get(at).map(|word| String::from_utf8_lossy(word));
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    let mut terms = Terms {
        token: arguments.first().map_or(&[], |token| &token[..]),
        number: number(1),
        ..Terms::default()
    };
    match (kind, is_fenced) {
        (Kind::Acquire, true) => {
            (terms.hint, terms.window, terms.counter_ttl) = (number(2), number(3), number(4));
        }
        (Kind::Confirm, _) => terms.counter_ttl = number(2),
        _ => {}
    }
    terms
}
