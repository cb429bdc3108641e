//! The commands of newer servers.

use super::resp::Reply;
use super::scripts::{Call, Words};
use super::slots::slot_of;
use super::town::Town;

impl Town {
    /// Deletes a key if it has a value, unless the server lacks the command.
    pub(super) fn compare_and_delete(
        &mut self,
        host: &str,
        connection: u64,
        words: Words<'_>,
    ) -> Reply {
        let (key, value) = (&words[1..2], &words[words.len() - 1..]);
        let is_trial = key[0].ends_with(b"redlock:permissions");
        if self.asked(connection).is_without {
            self.count("sent in spite of the greeting");
        }
        if let Some(error) = self.hosts[host].lacks {
            self.asked(connection).is_without |= is_trial;
            self.asked(connection).is_asking = false;
            self.count(if is_trial {
                "lacking"
            } else {
                "lacking by now"
            });
            return Reply::Error(error.to_owned());
        }
        if is_trial {
            let elsewhere = self.misplaced(host, slot_of(&key[0]), key, false);
            return elsewhere.map_or(Reply::Int(0), Reply::Error);
        }
        self.count("compared and deleted");
        match self.operation(host, connection, &Call::new("release", key, value)) {
            Reply::Int(-1) => Reply::Int(0),
            other => other,
        }
    }
}
