//! The masters of slots, and moves of slots between masters.

use std::future::Future;
use std::panic::Location;

use super::{FORMING, RedisCluster, id, share};
use crate::RedisNode;
use crate::eventually::eventually_for;

impl RedisCluster {
    /// Returns the first name of the form `{prefix}:{n}` whose slot belongs to `cluster[master]` at the start.
    pub fn name_at(&self, master: usize, prefix: &str) -> String {
        (0..1_000)
            .map(|n| format!("{prefix}:{n}"))
            .find(|name| usize::from(self.slot_of(name) / share()).min(2) == master)
            .expect("one name in three is there")
    }

    /// Returns the slot of a key.
    pub fn slot_of(&self, key: impl AsRef<[u8]>) -> u16 {
        let node = self.nodes.iter().find(|node| node.is_reachable());
        let node = node.expect("a server that answers");
        let slot = node.try_command([b"CLUSTER".as_slice(), b"KEYSLOT", key.as_ref()]);
        slot.expect("CLUSTER KEYSLOT")
    }

    /// Returns the index of the master of `slot`, if it is reachable and all reachable servers agree on it.
    pub fn master_of(&self, slot: u16) -> Option<usize> {
        let mut agreed = None;
        for node in self.nodes.iter().filter(|node| node.is_reachable()) {
            let port = owner_seen_by(node, slot)?;
            if agreed.is_some_and(|agreed| agreed != port) {
                return None;
            }
            agreed = Some(port);
        }
        let is_master = |node: &RedisNode| Some(node.port()) == agreed && node.is_reachable();
        self.nodes.iter().position(is_master)
    }

    /// Waits until `slot` is `master`'s.
    #[track_caller]
    pub fn until_owned(&self, slot: u16, master: usize) -> impl Future<Output = ()> {
        let caller = Location::caller();
        eventually_for(
            caller,
            "the slot's new master",
            FORMING,
            move || async move {
                match self.master_of(slot) {
                    Some(index) if index == master => Ok(()),
                    other => Err(format!("slot {slot} is {other:?}'s, not {master}'s")),
                }
            },
        )
    }

    /// Begins to move `slot`: its keys still have to go, one by one.
    pub fn open_slot(&self, slot: u16, from: usize, to: usize) {
        let [from, to] = [&self.nodes[from], &self.nodes[to]];
        let slot = slot.to_string();
        to.command(["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(from)]);
        from.command(["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(to)]);
    }

    /// Moves the keys of a slot that was opened.
    pub fn move_keys(&self, slot: u16, from: usize, to: usize) {
        let [from, to] = [&self.nodes[from], &self.nodes[to]];
        let port = to.port().to_string();
        loop {
            let keys: Vec<Vec<u8>> = from
                .try_command(["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "100"])
                .expect("GETKEYSINSLOT");
            if keys.is_empty() {
                return;
            }
            let mut migrate: Vec<Vec<u8>> = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000"]
                .map(|word| word.as_bytes().to_vec())
                .into();
            if let Some(password) = &self.password {
                migrate.extend([b"AUTH".to_vec(), password.as_bytes().to_vec()]);
            }
            migrate.push(b"KEYS".to_vec());
            migrate.extend(keys);
            from.command(migrate);
        }
    }

    /// Ends the move of a slot whose keys are gone from `from`, and returns once all servers know.
    pub async fn close_slot(&self, slot: u16, from: usize, to: usize) {
        let (number, slot, id) = (slot, slot.to_string(), id(&self.nodes[to]));
        for index in [to, from] {
            self.nodes[index].command(["CLUSTER", "SETSLOT", &slot, "NODE", &id]);
        }
        // If the epochs of two moves cross, the servers disagree for good. So wait for one epoch.
        eventually_for(Location::caller(), "one epoch", FORMING, async || {
            let epoch = |node: &RedisNode| -> Option<String> {
                let info: String = node.try_command(["CLUSTER", "INFO"]).ok()?;
                let mut lines = info.lines().map(str::to_owned);
                lines.find(|line| line.starts_with("cluster_current_epoch"))
            };
            let reachable = self.nodes.iter().filter(|node| node.is_reachable());
            let mut epochs: Vec<_> = reachable.map(epoch).collect();
            epochs.dedup();
            if epochs.len() == 1 {
                Ok(())
            } else {
                Err(format!("{epochs:?}"))
            }
        })
        .await;
        self.until_owned(number, to).await;
    }
}

/// Returns the port of the master that has `slot`, as `node` sees it.
fn owner_seen_by(node: &RedisNode, slot: u16) -> Option<u16> {
    type Server = (String, u16);
    let ranges: Vec<redis::Value> = node.try_command(["CLUSTER", "SLOTS"]).ok()?;
    ranges.into_iter().find_map(|range| {
        let redis::Value::Array(range) = range else {
            return None;
        };
        let [
            redis::Value::Int(first),
            redis::Value::Int(last),
            redis::Value::Array(master),
            ..,
        ] = &range[..]
        else {
            return None;
        };
        if !(*first..=*last).contains(&i64::from(slot)) {
            return None;
        }
        let (_, port): Server = (
            redis::from_redis_value(master.first()?.clone()).ok()?,
            redis::from_redis_value(master.get(1)?.clone()).ok()?,
        );
        Some(port)
    })
}
