//! A server: what it answers to which command.

use std::slice::from_ref;
use std::time::Duration;

use super::EPOCH_MICROS;
use super::log::{Did, Kind, Served, number_of};
use super::resp::Reply;
use super::scripts::{Call, Words, sha_of};
use super::slots::slot_of;
use super::town::{Connection, Group, Role, Town};

/// Longer than any run.
const FOREVER: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl Town {
    /// Serves a command that came by `connection`, and sends the answer.
    pub(super) fn serve(&mut self, connection: u64, words: Words<'_>) {
        let host = self.connections[&connection].host.clone();
        // Keys that have expired are gone.
        self.tell_of_changes(&host);
        let reply = self.reply(&host, connection, words);
        self.tell_of_changes(&host);
        self.send(connection, &reply);
    }

    fn reply(&mut self, host: &str, connection: u64, words: Words<'_>) -> Reply {
        let this = &self.hosts[host];
        let (role, now) = (this.role, self.now());
        let text: Vec<_> = words
            .iter()
            .map(|word| String::from_utf8_lossy(word))
            .collect();
        let text: Vec<&str> = text.iter().map(|word| &**word).collect();
        match &text[..] {
            ["HELLO", protocol, ..] => {
                let role = match role {
                    Role::Replica => "replica",
                    Role::Master | Role::Sentinel => "master",
                };
                let mut hello = vec![Reply::text("server"), Reply::text("redis")];
                hello.extend([Reply::text("version"), Reply::text("7.0.0")]);
                hello.extend([Reply::text("role"), Reply::text(role)]);
                hello.extend([Reply::text("modules"), Reply::Array(Vec::new())]);
                if *protocol == "3" {
                    Reply::Map(hello)
                } else {
                    Reply::Array(hello)
                }
            }
            ["CLIENT", "TRACKING", "ON"] => {
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
            ["PTTL", _] => self.operation(host, connection, &Call::new("pttl", &words[1..], &[])),
            ["SET", _, _, "NX", "PX", _, "GET"] => {
                let arguments = [words[2].clone(), words[5].clone()];
                let call = Call::new("set", &words[1..2], &arguments);
                match self.operation(host, connection, &call) {
                    Reply::Int(1) => Reply::Nil,
                    other => other,
                }
            }
            ["EVAL" | "EVALSHA", ..] => self.script(host, connection, words),
            _ => Reply::Error(format!("ERR unknown command '{}'", text[0])),
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
        let sha = sha_of(is_text, &words[1]);
        let this = self.hosts.get_mut(host).expect("a host");
        let Some(sha) = sha else {
            let is_permissions = words[1].windows(12).any(|part| part == b":permissions");
            return match (is_text, is_permissions) {
                (false, _) => Reply::Error("NOSCRIPT No matching script.".to_owned()),
                (true, true) => Reply::Int(1),
                (true, false) => self.check(host, keys, arguments),
            };
        };
        let call = (!keys.is_empty()).then(|| Call::of_script(&sha, keys, arguments));
        if is_text {
            this.scripts.insert(sha);
        } else if !this.scripts.contains(&sha) {
            let is_of_a_kind = call.is_some_and(|call| call.is_of_a_kind());
            self.count(if is_of_a_kind {
                "noscript of a kind"
            } else {
                "noscript"
            });
            return Reply::Error("NOSCRIPT No matching script.".to_owned());
        }
        let Some(call) = call else {
            return Reply::Int(1);
        };
        if keys[0].ends_with(b"redlock:permissions") {
            return Reply::text("-");
        }
        if let Some(marker) = call.marker {
            let now = (self.now() + EPOCH_MICROS) / 1000;
            let text = self.hosts[host].memory.get(marker);
            let text = text.and_then(|text| String::from_utf8(text).ok());
            let ends = text.and_then(|text| text.rsplit(' ').next()?.parse::<u64>().ok());
            if ends.is_none_or(|ends| ends > now) {
                self.count("nomarker");
                return Reply::Error("NOMARKER".to_owned());
            }
        }
        if call.is_batch() {
            self.release_each(host, connection, keys, arguments)
        } else {
            self.operation(host, connection, &call)
        }
    }

    /// Releases the locks that have the tokens, one key each.
    fn release_each(
        &mut self,
        host: &str,
        connection: u64,
        keys: Words<'_>,
        tokens: Words<'_>,
    ) -> Reply {
        self.count("batches of releases");
        let mut each = Vec::new();
        for (key, token) in keys.iter().zip(tokens) {
            let call = Call::new("release", from_ref(key), from_ref(token));
            each.push(match self.operation(host, connection, &call) {
                Reply::Int(1) => b'1',
                Reply::Int(0) => b'0',
                Reply::Int(_) => b'-',
                error => return error,
            });
        }
        if each.iter().all(|letter| *letter == b'1') {
            return Reply::Int(1);
        }
        self.count("releases of what is gone in a batch");
        Reply::Bulk(each)
    }

    /// The restart check's question.
    fn check(&mut self, host: &str, keys: Words<'_>, arguments: Words<'_>) -> Reply {
        let now = self.now();
        let this = &self.hosts[host];
        if this.role == Role::Replica {
            return Reply::Error(
                "READONLY You can't write against a read only replica.".to_owned(),
            );
        }
        let mut marker = this.memory.get(&keys[0]);
        if let [expected, new, not_after] = arguments {
            let found = marker
                .as_ref()
                .map_or(b"-".to_vec(), |it| [b"=", &it[..]].concat());
            let not_after: u64 = String::from_utf8_lossy(not_after).parse().unwrap_or(0);
            if found == *expected && (now + EPOCH_MICROS) / 1000 <= not_after {
                this.memory.put(&keys[0], new, FOREVER);
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
    pub(super) fn operation(&mut self, host: &str, connection: u64, call: &Call<'_>) -> Reply {
        let operation = call.operation();
        let kind = Kind::of(operation.want());
        let now = self.now();
        let is_asking = std::mem::take(&mut self.asked(connection).is_asking);
        let refusal = self
            .misplaced(host, slot_of(&call.keys[0]), call.keys, is_asking)
            .or_else(|| self.refusal(host, kind));
        let this = &self.hosts[host];
        let is_in_vain = this.successor.is_some();
        let (did, reply) = if let Some(error) = refusal {
            (Did::Error(error.clone()), Reply::Error(error))
        } else {
            let answer = this.memory.serve(&operation);
            let did = call.did(&answer, &this.memory);
            (did, call.reply(&answer, &this.memory))
        };
        let asked = &self.connections[&connection];
        let (is_late, is_tracking) = (asked.pipe.is_left(), asked.is_tracking);
        let served = Served {
            at: now,
            host: host.to_owned(),
            connection,
            is_late,
            is_in_vain,
            kind,
            key: call.keys[0].clone(),
            token: operation.token().as_bytes().to_vec(),
            number: number_of(operation.want()),
            did,
        };
        self.note(served);
        if kind == Kind::Inspect && is_tracking {
            self.track(host, &call.keys[0], connection);
        }
        reply
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
