//! Makes a vote count only once enough replicas have acknowledged its write.
//!
//! `WAIT` counts the replicas that have all writes of its own connection. So it ends the write of each call that takes
//! or keeps a lock, on the same connection. Its limit is below `suspect_after` and below a client's node timeout. If
//! too few replicas acknowledge, the connection ends: its calls are lost, and the node abstains at once. The driver
//! connects again, and a new connection begins with a write and a `WAIT`, so the node votes again only with its
//! replicas. `INFO` cannot tell that, because it calls a frozen replica online for a minute.

use std::time::Duration;

use ::redis::{Cmd, cmd};

use crate::model::brief::Brief;
use crate::node::{Effect, NodeError, NodeErrorKind, Value};
use crate::redis::errors::garbled;
use crate::redis::options::RedisOptions;

use super::pipeline::Purpose;

/// Writes a key for a millisecond. Nothing reads it. A master of a Cluster has only some slots, so the script tries
/// names until one is in a slot of the server. The `DEL` comes first, because a full server accepts a `SET` after it.
const WRITE: &str = "\
    local answer \
    for number = 1, 16384 do \
      local key = ARGV[1] .. 'redlock:replicas:' .. number \
      redis.pcall('DEL', key) \
      answer = redis.pcall('SET', key, '', 'PX', '1') \
      if not answer.err then break end \
    end \
    return answer";

/// The wait of one node for its replicas.
pub(in crate::redis) struct ReplicaWait {
    pub(super) wanted: u32,
    within: Duration,
    key_prefix: Box<[u8]>,
}

impl ReplicaWait {
    /// Returns the wait that `options` ask for, if they ask for replicas.
    pub(in crate::redis) fn new(options: &RedisOptions) -> Option<Self> {
        let peers = options.checked_set.as_deref();
        (options.replicas > 0).then(|| Self {
            wanted: options.replicas,
            // A `WAIT` of 0 ms lasts forever.
            within: (options.replica_timeout)
                .min(options.suspect_after / 2)
                .max(Duration::from_millis(1)),
            key_prefix: peers.map_or_else(Box::default, |it| it.key_prefix.clone()),
        })
    }

    /// Returns the commands that end a write with these `purposes`. A granted acquisition has written. An extension or
    /// a record may have written nothing, and some servers count only what the connection wrote, so a write comes first.
    pub(super) fn commands(&self, purposes: &[Purpose]) -> Vec<Cmd> {
        let effects = || {
            let calls = purposes.iter().flat_map(Purpose::calls);
            calls.map(|queued| queued.call().effect)
        };
        if effects().any(|effect| effect == Effect::Keeps) {
            self.probe().into()
        } else if effects().any(|effect| effect == Effect::Takes) {
            vec![self.wait()]
        } else {
            Vec::new()
        }
    }

    /// Returns a write and the wait for it. They begin a connection, and end each heartbeat.
    pub(super) fn probe(&self) -> [Cmd; 2] {
        [self.write(), self.wait()]
    }

    /// Returns an error if too few replicas have acknowledged, by the `answers` to the commands.
    pub(super) fn judge(&self, answers: &[Value]) -> Result<(), NodeError> {
        let error = answers.iter().find_map(|answer| match answer {
            Value::Error(text) => Some(NodeError::server(text)),
            _ => None,
        });
        if let Some(error) = error {
            return Err(error);
        }
        let Some(Value::Int(count)) = answers.last() else {
            return Err(garbled());
        };
        if *count >= i64::from(self.wanted) {
            return Ok(());
        }
        let (wanted, within) = (self.wanted, Brief(self.within));
        let detail = format!("{count} of {wanted} replicas acknowledged a write within {within}");
        Err(NodeError::sent(NodeErrorKind::TimedOut, detail))
    }

    fn write(&self) -> Cmd {
        let mut write = cmd("EVAL");
        write.arg(WRITE).arg(0).arg(&*self.key_prefix);
        write
    }

    fn wait(&self) -> Cmd {
        let within = u64::try_from(self.within.as_millis()).unwrap_or(u64::MAX);
        let mut wait = cmd("WAIT");
        wait.arg(self.wanted).arg(within);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_before_its_caller_and_its_gate_give_up() {
        let options = || RedisOptions::default().replicas(1);
        let ms = Duration::from_millis;
        for (options, within) in [
            (options(), 40),
            (options().for_node_timeout(ms(20)), 16),
            (options().for_node_timeout(ms(500)), 400),
            (options().suspect_after(ms(60)), 30),
            (options().suspect_after(ms(1)), 1),
        ] {
            let wait = ReplicaWait::new(&options).expect("it asks for a replica");
            assert_eq!(wait.within, ms(within), "{options:?}");
        }
    }
}
