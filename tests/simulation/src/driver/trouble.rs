//! What goes wrong, until it is calm.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::restart_check::marker_key;
use tokio::time::sleep;

use super::network::break_off;
use super::slots::slot_of;
use super::town::{Group, Role, Shared, Town};
use super::wire::End;
use crate::random::Random;

/// What may happen in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Troubles {
    /// Masters that were replaced go on for a while.
    pub(super) goes_on: bool,
    /// Servers restart without their keys, or lose their markers.
    pub(super) forgets: bool,
}

/// Bytes that are no reply, whichever bytes precede and follow them.
const GARBAGE: [&[u8]; 4] = [
    b"\0",
    b"?!\r\n",
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"\x15\x03\x01",
];

/// What servers answer that cannot serve.
const ERRORS: [&str; 5] = [
    "OOM command not allowed when used memory > 'maxmemory'.",
    "LOADING Redis is loading the dataset in memory",
    "BUSY Redis is busy running a script.",
    "NOREPLICAS Not enough good replicas to write.",
    "MISCONF Errors writing to the AOF file",
];

/// Lets things go wrong, until it is dropped.
pub(super) async fn trouble(shared: Shared, mut random: Random, troubles: Troubles) {
    loop {
        sleep(Duration::from_micros(random.below(300_000))).await;
        happen(&shared, &mut random, troubles);
    }
}

fn happen(shared: &Shared, random: &mut Random, troubles: Troubles) {
    let mut town = shared.lock().expect("no panic");
    let names: Vec<String> = town.hosts.keys().cloned().collect();
    let host = names[random.index(names.len())].clone();
    let connections = town.connections_of(&host);
    let connection =
        (!connections.is_empty()).then(|| connections[random.index(connections.len())]);
    let now = town.now();
    match (random.below(16), connection) {
        (0..4, Some(connection)) => {
            let end = random.pick(&[End::Closed, End::Reset]);
            let is_heard = random.chance(5000);
            town.count("broken");
            drop(town);
            break_off(shared, connection, end, is_heard);
        }
        (4, Some(connection)) => {
            // Nothing tells the client.
            town.tell(|| format!("#{connection} is silent"));
            town.count("silent");
            town.connections
                .get_mut(&connection)
                .expect("it is there")
                .is_cut = true;
        }
        (5, Some(connection)) => {
            town.tell(|| format!("#{connection} garbage"));
            town.count("garbage");
            town.garble(connection, random.pick(&GARBAGE));
        }
        (6, Some(connection)) => {
            let until = now + random.below(7_000_000);
            town.tell(|| format!("#{connection}: answers are late"));
            town.count("late answers");
            town.hold_back(connection, until);
        }
        (7 | 8, _) => {
            let most = random.pick(&[30_000, 300_000, 300_000, 1_500_000, 7_000_000]);
            let until = now + random.below(most);
            town.tell(|| format!("{host} hangs until {until}"));
            town.count("hung");
            let host = town.hosts.get_mut(&host).expect("a host");
            host.hangs_until = until.max(host.hangs_until);
        }
        (9 | 10, _) => {
            town.tell(|| format!("{host} forgets its scripts"));
            town.hosts.get_mut(&host).expect("a host").scripts.clear();
        }
        (11, _) => {
            let error = random.pick(&ERRORS);
            let until = now + random.below(500_000);
            town.tell(|| format!("{host} answers {error:.8} until {until}"));
            town.hosts.get_mut(&host).expect("a host").trouble = Some((error, until));
        }
        (12, _) if town.hosts[&host].is_up => {
            let span = Duration::from_micros(random.below(2_000_000));
            let is_master = town.hosts[&host].role == Role::Master;
            let keeps_keys = !troubles.forgets || !is_master || random.chance(7000);
            town.tell(|| format!("{host} is down for {span:?}, keeps its keys: {keeps_keys}"));
            town.count(if keeps_keys {
                "restarted"
            } else {
                "restarted empty"
            });
            drop(town);
            take_down(shared, &host, span, keeps_keys);
        }
        _ => town.change(&host, random, troubles),
    }
}

fn take_down(shared: &Shared, host: &str, span: Duration, keeps_keys: bool) {
    let connections = {
        let mut town = shared.lock().expect("no panic");
        town.hosts.get_mut(host).expect("a host").is_up = false;
        town.connections_of(host)
    };
    for connection in connections {
        break_off(shared, connection, End::Reset, false);
    }
    let (shared, host) = (Arc::clone(shared), host.to_owned());
    tokio::spawn(async move {
        sleep(span).await;
        let mut town = shared.lock().expect("no panic");
        // A failover may have needed it.
        if !town.hosts[&host].is_up {
            town.restart(&host, keeps_keys);
        }
    });
}

impl Town {
    /// The sentinels' part, and the Cluster's.
    fn change(&mut self, host: &str, random: &mut Random, troubles: Troubles) {
        let group = self.hosts[host].group;
        let role = self.hosts[host].role;
        if self.hosts[host].successor.is_some() {
            return self.demote(host);
        }
        match &self.groups[group] {
            Group::Alone if troubles.forgets && random.chance(2500) => self.lose_marker(host),
            Group::Alone => {}
            Group::Watched(_) if role == Role::Sentinel => self.inform(host),
            Group::Watched(watched) => {
                let sentinels: Vec<_> = watched.known.keys().cloned().collect();
                let goes_on = troubles.goes_on && random.chance(5000);
                self.fail_over(group, goes_on);
                // A majority has agreed on it.
                sentinels[1..]
                    .iter()
                    .for_each(|sentinel| self.inform(sentinel));
            }
            Group::Cluster(slots) if random.chance(8000) || !slots.moving.is_empty() => {
                let begun = slots.moving.keys().next().copied();
                let some = slot_of(random.pick(&[b"{a}", b"{b}", b"{c}", b"{d}"]));
                self.move_slot(group, begun.unwrap_or(some));
            }
            Group::Cluster(slots) if slots.unserved.is_some() => self.leave_unserved(group, None),
            Group::Cluster(_) if random.chance(3000) => {
                let some = slot_of(random.pick(&[b"{a}", b"{b}", b"{c}", b"{d}"]));
                self.leave_unserved(group, Some(some));
            }
            Group::Cluster(_) => {
                let goes_on = troubles.goes_on && random.chance(5000);
                self.fail_over(group, goes_on);
            }
        }
    }

    /// A server loses the restart check's marker and nothing else, under live connections.
    fn lose_marker(&mut self, host: &str) {
        let (memory, marker) = (&self.hosts[host].memory, marker_key(b""));
        if memory.get(&marker).is_some() {
            memory.delete(&marker);
            self.tell(|| format!("{host} loses its marker"));
            self.count("marker lost");
        }
    }

    /// Something else stands before the answers that are on their way, or in the first of them.
    fn garble(&mut self, connection: u64, garbage: &[u8]) {
        let now = self.now();
        let outbox = Arc::clone(&self.connections[&connection].outbox);
        let mut queue = outbox.queue.lock().expect("no panic");
        let place = self.random.below(2);
        match queue.front_mut() {
            Some((_, bytes)) if place == 0 && bytes.len() > 3 => {
                let at = 1 + self.random.index(bytes.len() - 3);
                drop(bytes.splice(at..at, garbage[..1].iter().copied()));
            }
            Some((_, bytes)) => drop(bytes.splice(0..0, garbage.iter().copied())),
            None => queue.push_back((now, garbage.to_vec())),
        }
        outbox.news.notify_one();
    }

    fn hold_back(&mut self, connection: u64, until: u64) {
        let outbox = Arc::clone(&self.connections[&connection].outbox);
        let mut queue = outbox.queue.lock().expect("no panic");
        for (due, _) in queue.iter_mut() {
            *due = until.max(*due);
        }
        if queue.is_empty() {
            queue.push_back((until, Vec::new()));
        }
    }

    /// From here on nothing goes wrong.
    pub(super) fn calm_down(&mut self) {
        self.tell(|| "calm".to_owned());
        self.is_calm = true;
        let names: Vec<String> = self.hosts.keys().cloned().collect();
        for name in &names {
            let host = self.hosts.get_mut(name).expect("a host");
            (host.hangs_until, host.trouble) = (0, None);
            if host.successor.is_some() {
                self.demote(name);
            }
            if self.hosts[name].role == Role::Sentinel {
                self.inform(name);
            }
        }
        for group in 0..self.groups.len() {
            self.leave_unserved(group, None);
            while let Group::Cluster(slots) = &self.groups[group] {
                let Some(slot) = slots.moving.keys().next().copied() else {
                    break;
                };
                self.move_slot(group, slot);
            }
        }
    }
}
