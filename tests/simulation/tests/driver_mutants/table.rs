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
const BATCH: &str = "redlock-core/src/redis/protocol/command/batch.rs";
const BATCHES: &str = "redlock-core/src/redis/server/serve/batches.rs";
const CLUSTER: &str = "redlock-core/src/redis/cluster/mod.rs";
const KEYS: &str = "redlock-core/src/redis/tracking/keys.rs";
const REFRESH: &str = "redlock-core/src/redis/cluster/refresh.rs";
const SERVE: &str = "redlock-core/src/redis/server/serve/mod.rs";
const COMMAND: &str = "redlock-core/src/redis/protocol/command/mod.rs";
const LENDING: &str = "redlock-core/src/redis/server/serve/lending.rs";
const LOAN: &str = "redlock-core/src/redis/server/inbox/loan.rs";
const PERMITS: &str = "redlock-core/src/redis/protocol/command/permits.rs";
const SHARING: &str = "redlock-core/src/redis/protocol/command/sharing.rs";
const WATCHDOG: &str = "redlock-core/src/redis/server/serve/watchdog.rs";

pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "a-batch-is-taken-as-granted",
        patches: &[Patch {
            file: BATCH,
            find: "        Value::Bulk(each) => each.get(place) == Some(&b'1'),
",
            replace: "        Value::Bulk(each) => each.get(place).is_some(),
",
        }],
    },
    Mutant {
        name: "a-batch-goes-behind-what-came-later",
        patches: &[Patch {
            file: BATCHES,
            find: "        if ttl != Some(self.batch.ttl) || !has_room {
",
            replace: "        if !has_room {
",
        }],
    },
    Mutant {
        name: "a-batch-under-way-is-forgotten",
        patches: &[Patch {
            file: ENDS,
            find: "                    replies.extend(extensions.into_iter().map(|it| it.reply));
",
            replace: "                    drop(extensions);
",
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
            find: "                    owed.extend(Owed::for_release(&operation, route, &self.inbox.time));
",
            replace: "                    let _ = (operation, route);
",
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
            find: "            if let Some(owed) = Owed::for_release(operation, route, &self.time) {
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
            find: "        owed.into_iter().filter(|owed| owed.until > now).collect()
",
            replace: "        owed.into_iter().filter(|owed| owed.until <= now).collect()
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
            find: "        if is_noscript(value) && !self.is_overtaken(operation) {
",
            replace: "        if is_noscript(value) {
",
        }],
    },
    Mutant {
        name: "what-is-sent-again-keeps-its-place",
        patches: &[Patch {
            file: ANSWERS,
            find:
                "                .extend_from_slice(&encode_with_text(operation, &self.encoding));
            self.in_flight.push_back(in_flight);
",
            replace:
                "                .extend_from_slice(&encode_with_text(operation, &self.encoding));
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
            find: "                    if let Some(owed) = Owed::for_release(&operation, route, &self.inbox.time) {
                        self.owe(owed, error);
                    }
",
            replace: "                    let _ = route;
",
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
    Mutant {
        name: "permits-sent-again-behind-their-release",
        patches: &[Patch {
            file: ENDS,
            find: "        if !want.is_acquisition() && !matches!(want, Want::Restore { .. } | Want::Extend { .. }) {
",
            replace: "        if !matches!(want, Want::Acquire { .. } | Want::Restore { .. } | Want::Extend { .. }) {
",
        }],
    },
    Mutant {
        name: "permits-in-another-order",
        patches: &[Patch {
            file: PERMITS,
            find: "    let free = permits.keys().iter().zip(*bits);
",
            replace: "    let free = permits.keys().iter().rev().zip(*bits);
",
        }],
    },
    Mutant {
        name: "a-reader-is-released-as-a-plain-lock",
        patches: &[Patch {
            file: COMMAND,
            find: "    if let Some(sharing) = operation.sharing() {
        return sharing::script_call",
            replace: "    let is_release = matches!(operation.want(), Want::Release { .. });
    if let Some(sharing) = operation.sharing().filter(|_| !is_release) {
        return sharing::script_call",
        }],
    },
    Mutant {
        name: "a-writer-goes-in-beside-readers",
        patches: &[Patch {
            file: SHARING,
            find: "        Value::Bulk([b'r']) => Answer::Held(Holding::readers()),
",
            replace: "        Value::Bulk([b'r']) => Answer::GRANTED,
",
        }],
    },
    Mutant {
        name: "permits-have-one-fencing-token",
        patches: &[Patch {
            file: PERMITS,
            find: "            counter: permits.is_fenced().then(|| number.unsigned_abs()),
",
            replace: "            counter: permits.is_fenced().then_some(1),
",
        }],
    },
    Mutant {
        name: "a-dropped-task-keeps-the-connection",
        patches: &[Patch {
            file: LENDING,
            find: "            self.shared.give_back(serve, None);
",
            replace: "            drop(serve);
",
        }],
    },
    Mutant {
        name: "a-return-loses-the-wake-up",
        patches: &[Patch {
            file: LENDING,
            find: "            driver.wake();
",
            replace: "            drop(driver);
",
        }],
    },
    Mutant {
        name: "another-runtime-waits-for-a-look",
        patches: &[Patch {
            file: LOAN,
            find: "            return Some(driver.clone());
",
            replace: "            return None;
",
        }],
    },
    Mutant {
        name: "a-runtime-that-stands-still-keeps-the-connection",
        patches: &[Patch {
            file: LENDING,
            find: "                if self.quiet_looks == TICKS || !serve.in_flight.is_empty() {
",
            replace: "                if self.quiet_looks > 1000 * TICKS {
",
        },
        Patch {
            file: LENDING,
            find: "                if serve.inbox.is_waited_for() {
",
            replace: "                if serve.inbox.is_waited_for() && self.quiet_looks > 1000 {
",
        }],
    },
    Mutant {
        name: "a-connection-stays-in-the-other-runtime",
        patches: &[Patch {
            file: LENDING,
            find: "        if self.place.is_away
            && let Some(socket) = &self.place.socket
",
            replace: "        if self.place.loans == u64::MAX
            && let Some(socket) = &self.place.socket
",
        }],
    },
];
