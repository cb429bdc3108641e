//! The mutants.

/// A way to break the driver.
pub(crate) struct Mutant {
    pub(crate) name: &'static str,
    pub(crate) patches: &'static [Patch],
}

/// One change of a file: `find` is there exactly once.
pub(crate) struct Patch {
    pub(crate) file: &'static str,
    pub(crate) find: &'static str,
    pub(crate) replace: &'static str,
}

const ENDS: &str = "redlock-core/src/redis/server/serve/ends.rs";
const INBOX: &str = "redlock-core/src/redis/server/inbox/mod.rs";
const CONNECTION: &str = "redlock-core/src/redis/tracking/connection/mod.rs";
const ANSWERS: &str = "redlock-core/src/redis/server/serve/answers.rs";
const JOINED: &str = "redlock-core/src/redis/protocol/command/joined.rs";
const CLUSTER: &str = "redlock-core/src/redis/cluster/mod.rs";
const KEYS: &str = "redlock-core/src/redis/tracking/keys.rs";
const REFRESH: &str = "redlock-core/src/redis/cluster/refresh.rs";
const SERVE: &str = "redlock-core/src/redis/server/serve/mod.rs";
const WATCHDOG: &str = "redlock-core/src/redis/server/serve/watchdog.rs";

pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "a-batch-is-taken-as-granted",
        patches: &[Patch {
            file: JOINED,
            find: "        wire::Value::Bulk(letters) => *letters.get(place)?,
",
            replace: "        wire::Value::Bulk(_) => b'1',
",
        }],
    },
    Mutant {
        name: "a-batch-under-way-is-forgotten",
        patches: &[Patch {
            file: ENDS,
            find: "                Purpose::Joined(joined) => calls.extend(joined),
",
            replace: "                Purpose::Joined(joined) => drop(joined),
",
        }],
    },
    Mutant {
        name: "releases-of-a-batch-under-way-are-forgotten",
        patches: &[Patch {
            file: ENDS,
            find: "                Purpose::Joined(joined) => calls.extend(joined),
",
            replace: "                Purpose::Joined(joined) => joined.into_iter().for_each(|it| {
                    it.reply.answer(Answer::Failed(error.clone().into_sent()));
                }),
",
        }],
    },
    Mutant {
        name: "a-refused-batch-of-releases-counts-as-served",
        patches: &[Patch {
            file: JOINED,
            find: "        _ => return None,
    };
",
            replace: "        _ => b'-',
    };
",
        }],
    },
    Mutant {
        name: "sent-again-behind-its-release-in-a-batch",
        patches: &[Patch {
            file: ENDS,
            find:
                "            Purpose::Joined(joined) => joined.iter().any(|it| releases(&it.call)),
",
            replace: "",
        }],
    },
    Mutant {
        name: "replies-one-off-after-a-reconnect",
        patches: &[Patch {
            file: SERVE,
            find: "        serve.ask();
        serve.send_owed(owed);
",
            replace: "        serve.ask();
        if !owed.is_empty() {
            serve.push(Instant::now(), Purpose::Heartbeat);
        }
        serve.send_owed(owed);
",
        }],
    },
    Mutant {
        name: "a-release-under-way-is-forgotten",
        patches: &[Patch {
            file: ENDS,
            find: "        owed.extend(calls.iter().filter_map(|it| it.owed(&self.inbox.time)));
",
            replace: "",
        }],
    },
    Mutant {
        name: "an-owed-release-is-sent-once",
        patches: &[Patch {
            file: ENDS,
            find: "                Purpose::Owed(still) => owed.push(still),
",
            replace: "                Purpose::Owed(still) => drop(still),
",
        }],
    },
    Mutant {
        name: "a-release-without-a-connection-is-forgotten",
        patches: &[Patch {
            file: INBOX,
            find: "            if let Some(owed) = submission.owed(&self.time) {
                state.owe(owed);
            }
            drop(state);
",
            replace: "            drop(state);
",
        }],
    },
    Mutant {
        name: "a-queued-release-is-forgotten",
        patches: &[Patch {
            file: INBOX,
            find: "            for submission in &queue {
",
            replace: "            for submission in queue.iter().take(0) {
",
        }],
    },
    Mutant {
        name: "only-what-is-over-is-owed",
        patches: &[Patch {
            file: INBOX,
            find: "            let owed: Vec<_> = owed.filter(|owed| owed.until > now).collect();
",
            replace:
                "            let owed: Vec<_> = owed.filter(|owed| owed.until <= now).collect();
",
        }],
    },
    Mutant {
        name: "what-was-sent-is-said-not-to-be",
        patches: &[Patch {
            file: ENDS,
            find: "        let unknown = error.clone().into_sent();
",
            replace: "        let unknown = NodeError::unsent(error.kind(), error.to_string());
",
        }],
    },
    Mutant {
        name: "sent-again-behind-its-release",
        patches: &[Patch {
            file: ANSWERS,
            find: "        if is_noscript(value) && !self.is_overtaken(call) {
",
            replace: "        if is_noscript(value) {
",
        }],
    },
    Mutant {
        name: "what-is-sent-again-keeps-its-place",
        patches: &[Patch {
            file: ANSWERS,
            find: "            encode(call, &self.encoding, true, &mut self.output);
            self.in_flight.push_back(in_flight);
",
            replace: "            encode(call, &self.encoding, true, &mut self.output);
            self.in_flight.push_front(in_flight);
",
        }],
    },
    Mutant {
        name: "a-silent-connection-is-kept",
        patches: &[Patch {
            file: WATCHDOG,
            find: "                Some(waited) if waited >= self.options.dead_after => {
",
            replace: "                Some(waited) if waited > self.options.dead_after * 1000 => {
",
        }],
    },
    Mutant {
        name: "a-changed-key-is-not-asked-for",
        patches: &[Patch {
            file: CONNECTION,
            find: "                        self.tracked.changed(key);
",
            replace: "                        let _ = key;
",
        }],
    },
    Mutant {
        name: "a-new-connection-asks-for-nothing",
        patches: &[Patch {
            file: KEYS,
            find: "        self.questions = self.keys.keys().cloned().collect();
",
            replace: "",
        }],
    },
    Mutant {
        name: "a-successor-is-owed-nothing",
        patches: &[Patch {
            file: REFRESH,
            find: "            let owed = shard.link.inbox.retire(not_connected(detail));
            self.deliver_all_owed(owed);
",
            replace: "            drop(shard.link.inbox.retire(not_connected(detail)));
",
        }],
    },
    Mutant {
        name: "parked-releases-stay",
        patches: &[Patch {
            file: CLUSTER,
            find: "        self.deliver_all_owed(parked);
",
            replace: "        drop(parked);
",
        }],
    },
    Mutant {
        name: "a-refused-release-is-served",
        patches: &[Patch {
            file: ANSWERS,
            find: "                    if let Some(owed) = submission.owed(&self.inbox.time) {
                        self.owe(owed, error);
                    }
",
            replace: "",
        }],
    },
    Mutant {
        name: "a-refused-release-is-tried-once-more",
        patches: &[Patch {
            file: ANSWERS,
            find: "                if let Some(error) = &refusal {
                    self.owe(owed, error);
                    self.inbox.metrics.record_error(error);
                }
",
            replace: "",
        }],
    },
];
