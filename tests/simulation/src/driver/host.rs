//! A server: what it answers to which command.

use std::time::Duration;

use redlock_core::node::{Script, Value};

use super::EPOCH_MICROS;
use super::log::{Kind, Served, What};
use super::resp::Reply;
use super::scripts::{Words, called, command};
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
                let elsewhere = self.misplaced(host, slot_of(&words[1]), &words[1..2]);
                let refusal = elsewhere.or_else(|| self.refusal(host, Kind::Acquire));
                refusal.map_or(Reply::Nil, Reply::Error)
            }
            ["TIME"] => time(now),
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
            ["EVAL" | "EVALSHA", ..] => self.script(host, connection, words),
            _ => match command(&words[0]) {
                Some(script) => self.call(host, connection, script, words[1..].split_at(1)),
                None => Reply::Error(format!("ERR unknown command '{}'", text[0])),
            },
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
        let Some(script) = called(is_text, &words[1]) else {
            let is_permissions = words[1].windows(12).any(|part| part == b":permissions");
            return match (is_text, is_permissions) {
                (false, _) => Reply::Error("NOSCRIPT No matching script.".to_owned()),
                (true, true) => Reply::Int(1),
                (true, false) => self.check(host, keys, arguments),
            };
        };
        let this = self.hosts.get_mut(host).expect("a host");
        if is_text {
            this.scripts.insert(script.sha());
        } else if !this.scripts.contains(script.sha()) {
            self.count(match script.name() {
                "acquire-permit" | "acquire-read" | "acquire-write" => "noscript of a kind",
                _ => "noscript",
            });
            return Reply::Error("NOSCRIPT No matching script.".to_owned());
        }
        match keys.first() {
            None => Reply::Int(1),
            Some(key) if key.ends_with(b"redlock:permissions") => Reply::text("-"),
            Some(_) => self.call(host, connection, script, (keys, arguments)),
        }
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

    /// Everything that is about locks.
    fn call(
        &mut self,
        host: &str,
        connection: u64,
        script: &'static Script,
        (keys, arguments): (Words<'_>, Words<'_>),
    ) -> Reply {
        let elsewhere = self.misplaced(host, slot_of(&keys[0]), keys);
        let key = keys[0].clone();
        let keys: Vec<_> = keys.iter().map(|key| &key[..]).collect();
        let arguments: Vec<_> = arguments.iter().map(|word| &word[..]).collect();
        let what = What::of(script, &keys, &arguments);
        let kind = what.kind;
        let refusal = elsewhere.or_else(|| self.refusal(host, kind));
        let memory = &self.hosts[host].memory;
        let reply = match refusal {
            Some(error) => Value::error(&error),
            None => memory.run(script, &keys, &arguments),
        };
        if reply == Value::error("NOMARKER") {
            self.count("nomarker");
        }
        if script.name() == "release-each" {
            self.count("batches of releases");
            if let Value::Text(_) = reply {
                self.count("releases of what is gone in a batch");
            }
            for (place, (key, token)) in keys.iter().zip(&arguments).enumerate() {
                let did = match &reply {
                    Value::Text(letters) if letters[place] == b'1' => Value::Int(1),
                    Value::Text(letters) if letters[place] == b'0' => Value::Int(0),
                    Value::Text(_) => Value::Int(-1),
                    of_all => of_all.clone(),
                };
                self.note(host, connection, What::of(script, &[key], &[token]), did);
            }
        } else {
            self.note(host, connection, what, reply.clone());
        }
        if kind == Kind::Inspect && self.connections[&connection].is_tracking {
            self.track(host, &key, connection);
        }
        Reply::of(&reply)
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

    fn note(&mut self, host: &str, connection: u64, what: What, did: Value) {
        let served = Served {
            at: self.now(),
            host: host.to_owned(),
            connection,
            is_late: self.connections[&connection].pipe.is_left(),
            is_in_vain: self.hosts[host].successor.is_some(),
            what,
            did,
        };
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
