//! Nodes as they are set up, how they change, and where their keys are.

use std::collections::BTreeMap;

use redlock_core::node::READERS_MARKER;

use super::resp::Reply;
use super::slots::{place, slot_of};
use super::town::{Group, Host, Role, Slots, Town, Watched};

/// The µs after a hang within which a server has served what came meanwhile.
const WAKING: u64 = 2_000;

/// What kind of node it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Server,
    Sentinels,
    Cluster,
}

impl Host {
    /// Whether there is a key of any type.
    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.memory.get(key).is_some() || !self.memory.entries(key).is_empty()
    }

    /// The tokens that hold a lock by `key`.
    fn holders(&self, key: &[u8]) -> Vec<Vec<u8>> {
        if key.starts_with(b"redlock:readers:") {
            let readers = self.memory.entries(key).into_iter();
            return readers.map(|(token, _)| token).collect();
        }
        let is_other = key.starts_with(b"redlock:") && !key.starts_with(b"redlock:permit:");
        let value = self.memory.get(key).filter(|_| !is_other);
        let holder = value.filter(|value| value != READERS_MARKER);
        holder.into_iter().collect()
    }
}

impl Town {
    /// Adds a node, and returns its URL.
    pub(super) fn add(&mut self, shape: Shape) -> String {
        let number = self.groups.len();
        let name = |kind: char, seat: usize| format!("{kind}{number}x{seat}:{}", 7000 + seat);
        match shape {
            Shape::Server => {
                self.add_host(&name('s', 0), Role::Master);
                self.groups.push(Group::Alone);
                format!("redis://{}", name('s', 0))
            }
            Shape::Sentinels => {
                self.add_host(&name('m', 0), Role::Master);
                self.add_host(&name('m', 1), Role::Replica);
                let sentinels = [0, 1, 2].map(|seat| name('w', seat));
                let mut known = BTreeMap::new();
                for sentinel in &sentinels {
                    self.add_host(sentinel, Role::Sentinel);
                    known.insert(sentinel.clone(), (name('m', 0), 1));
                }
                self.groups.push(Group::Watched(Watched {
                    master: name('m', 0),
                    epoch: 1,
                    known,
                }));
                format!("redis+sentinel://{}/m", sentinels.join(","))
            }
            Shape::Cluster => {
                let masters = [0, 1, 2].map(|seat| name('c', seat));
                for master in &masters {
                    self.add_host(master, Role::Master);
                }
                self.add_host(&name('c', 3), Role::Replica);
                let seeds = masters[..2].join(",");
                self.groups.push(Group::Cluster(Slots {
                    masters: masters.into(),
                    epoch: 1,
                    moved: BTreeMap::new(),
                    moving: BTreeMap::new(),
                    unserved: None,
                }));
                format!("redis+cluster://{seeds}")
            }
        }
    }

    /// The servers of a node whose word counts.
    fn is_master(&self, name: &str) -> bool {
        match &self.groups[self.hosts[name].group] {
            Group::Alone => true,
            Group::Watched(watched) => watched.master == name,
            Group::Cluster(slots) => slots.masters.iter().any(|master| master == name),
        }
    }

    /// The lock keys and the entries of readers that are there, by the servers that they count on, with their holders.
    pub(super) fn locks_left(&self) -> Vec<(String, Vec<u8>, Vec<u8>)> {
        let mut left = Vec::new();
        for (name, host) in self.hosts.iter().filter(|(name, _)| self.is_master(name)) {
            for key in host.memory.keys() {
                let is_here = match &self.groups[host.group] {
                    Group::Cluster(slots) => slots.masters[slots.owner(slot_of(&key))] == *name,
                    _ => true,
                };
                for holder in host.holders(&key).into_iter().filter(|_| is_here) {
                    left.push((name.clone(), key.clone(), holder));
                }
            }
        }
        left
    }

    /// Makes another server of the group the master. If `goes_on`, the previous master still serves as
    /// one for a while.
    pub(super) fn fail_over(&mut self, group: usize, goes_on: bool) {
        let now = self.now();
        // A server that hangs hears no vote, and when it wakes it serves what came meanwhile before all else.
        let is_awake = |host: &Host| host.hangs_until.saturating_add(WAKING) <= now;
        let spare = |(_, host): &(&String, &Host)| {
            host.group == group && host.role == Role::Replica && is_awake(host)
        };
        let spare = self.hosts.iter().find(spare).map(|(name, _)| name.clone());
        let Some(new) = spare else { return };
        let old = match &mut self.groups[group] {
            Group::Watched(watched) => {
                watched.epoch += 1;
                std::mem::replace(&mut watched.master, new.clone())
            }
            Group::Cluster(slots) if slots.moving.is_empty() => {
                slots.epoch += 1;
                let seat = self.random.index(slots.masters.len());
                std::mem::replace(&mut slots.masters[seat], new.clone())
            }
            // Not while slots move.
            Group::Alone | Group::Cluster(_) => return,
        };
        self.count("failed over");
        self.tell(|| format!("{new} in the place of {old}, which goes on: {goes_on}"));
        let memory = self.hosts[&old].memory.fork();
        if !self.hosts[&new].is_up {
            self.restart(&new, true);
        }
        let host = self.hosts.get_mut(&new).expect("a host");
        (host.memory, host.role) = (memory, Role::Master);
        if goes_on {
            self.hosts.get_mut(&old).expect("a host").successor = Some(new);
        } else {
            self.demote(&old);
        }
    }

    /// A master that was replaced hears of it.
    pub(super) fn demote(&mut self, name: &str) {
        let host = self.hosts.get_mut(name).expect("a host");
        (host.role, host.successor) = (Role::Replica, None);
        let keys: Vec<_> = host.tracked.keys().cloned().collect();
        self.invalidate(name, &keys);
    }

    /// A sentinel hears of the last failover, and tells of it.
    pub(super) fn inform(&mut self, sentinel: &str) {
        let Group::Watched(watched) = &mut self.groups[self.hosts[sentinel].group] else {
            return;
        };
        let news = (watched.master.clone(), watched.epoch);
        let old = watched.known.insert(sentinel.to_owned(), news.clone());
        let Some((old, _)) = old.filter(|known| *known != news) else {
            return;
        };
        let ((old, old_port), (new, port)) = (place(&old), place(&news.0));
        let text = format!("m {old} {old_port} {new} {port}");
        let message = Reply::texts(&["message", "+switch-master", &text]);
        for connection in self.connections_of(sentinel) {
            if self.connections[&connection].is_subscribed {
                self.send(connection, &message);
            }
        }
    }

    /// A slot of a Cluster begins to move, or goes on with it.
    pub(super) fn move_slot(&mut self, group: usize, slot: u16) {
        let to = self.random.index(3);
        let Group::Cluster(slots) = &mut self.groups[group] else {
            return;
        };
        let from = slots.owner(slot);
        match slots.moving.get(&slot).copied() {
            None if from == to => {}
            None => {
                slots.moving.insert(slot, to);
                self.count("slot begins to move");
            }
            Some(to) => {
                let (from, to) = (slots.masters[from].clone(), slots.masters[to].clone());
                let source = &self.hosts[&from].memory;
                let keys = source.keys().into_iter();
                if let Some(key) = keys.into_iter().find(|key| slot_of(key) == slot) {
                    source.move_key(&key, &self.hosts[&to].memory);
                    self.invalidate(&from, &[key]);
                } else {
                    self.own(group, slot);
                }
            }
        }
    }

    /// The slot that no master serves from now on. The master that had it keeps its keys.
    pub(super) fn leave_unserved(&mut self, group: usize, slot: Option<u16>) {
        if let Group::Cluster(slots) = &mut self.groups[group] {
            slots.unserved = slot;
            slots.epoch += 1;
        }
    }

    fn own(&mut self, group: usize, slot: u16) {
        let now = self.now();
        if let Group::Cluster(slots) = &mut self.groups[group] {
            let to = slots.moving.remove(&slot).expect("it moves");
            slots.moved.insert(slot, to);
            slots.epoch += 1;
            self.arrivals.push((now, slot, slots.masters[to].clone()));
            self.count("slot moved");
        }
    }

    /// A new process at the same address.
    pub(super) fn restart(&mut self, name: &str, keeps_keys: bool) {
        let (run_id, empty) = (self.random.next(), self.empty_memory());
        let host = self.hosts.get_mut(name).expect("a host");
        (host.is_up, host.run_id, host.hangs_until) = (true, run_id, 0);
        host.scripts.clear();
        host.tracked.clear();
        if !keeps_keys {
            host.memory = empty;
        }
    }
}
