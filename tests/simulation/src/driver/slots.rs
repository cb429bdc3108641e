//! What sentinels and the servers of a Cluster say of each other, and whose a key is.

use super::resp::Reply;
use super::town::{Group, Role, Slots, Town};

/// The slot of `key`, as the Cluster's specification has it.
pub(super) fn slot_of(key: &[u8]) -> u16 {
    let tag = || {
        let open = key.iter().position(|byte| *byte == b'{')?;
        let rest = &key[open + 1..];
        let close = rest.iter().position(|byte| *byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    };
    let mut crc = 0_u16;
    for byte in tag().unwrap_or(key) {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            };
        }
    }
    crc % Slots::COUNT
}

/// `host:port`, taken apart.
pub(super) fn place(name: &str) -> (&str, &str) {
    name.rsplit_once(':').expect("a host and a port")
}

impl Town {
    pub(super) fn sentinel(&self, name: &str, what: &str) -> Reply {
        let Group::Watched(watched) = &self.groups[self.hosts[name].group] else {
            return Reply::Error("ERR No such master with that name".to_owned());
        };
        let (master, epoch) = &watched.known[name];
        let (host, port) = place(master);
        match what {
            "MASTER" => Reply::texts(&["name", "m", "config-epoch", &epoch.to_string()]),
            _ => Reply::texts(&[host, port]),
        }
    }

    pub(super) fn cluster(&self, name: &str, what: &str) -> Reply {
        let Group::Cluster(slots) = &self.groups[self.hosts[name].group] else {
            return Reply::Error("ERR This instance has cluster support disabled".to_owned());
        };
        if what == "INFO" {
            let epoch = slots.epoch;
            return Reply::text(format!(
                "cluster_state:ok\r\ncluster_current_epoch:{epoch}\r\n"
            ));
        }
        let mut ranges: Vec<(u16, u16, usize)> = Vec::new();
        for slot in (0..Slots::COUNT).filter(|slot| slots.unserved != Some(*slot)) {
            let owner = slots.owner(slot);
            match ranges.last_mut() {
                Some((_, last, known)) if *known == owner && *last + 1 == slot => *last = slot,
                _ => ranges.push((slot, slot, owner)),
            }
        }
        let entry = |(first, last, owner): (u16, u16, usize)| {
            let (host, port) = place(&slots.masters[owner]);
            let port = Reply::Int(port.parse().unwrap_or(0));
            let id = Reply::text(&slots.masters[owner]);
            let master = Reply::Array(vec![Reply::text(host), port, id]);
            Reply::Array(vec![
                Reply::Int(first.into()),
                Reply::Int(last.into()),
                master,
            ])
        };
        Reply::Array(ranges.into_iter().map(entry).collect())
    }

    /// Where an operation on `slot` belongs, if that is not here.
    pub(super) fn misplaced(&mut self, name: &str, slot: u16, locks: &[Vec<u8>]) -> Option<String> {
        let host = &self.hosts[name];
        let Group::Cluster(slots) = &self.groups[host.group] else {
            return None;
        };
        if slots.unserved == Some(slot) {
            self.count("slot unserved");
            return Some("CLUSTERDOWN Hash slot not served".to_owned());
        }
        let owner = slots.owner(slot);
        if host.successor.as_ref() == Some(&slots.masters[owner]) {
            // It goes by what it knew.
            return None;
        }
        let there = locks.iter().filter(|key| host.has(key));
        let is_all = there.clone().count() == locks.len();
        let is_any = there.count() > 0;
        let is_here = slots.masters[owner] == name && host.role == Role::Master;
        let error = match slots.moving.get(&slot) {
            Some(to) if is_here => match (is_all, is_any) {
                (true, _) => return None,
                (false, true) => "TRYAGAIN Multiple keys request during rehashing".to_owned(),
                (false, false) => format!("ASK {slot} {}", slots.masters[*to]),
            },
            _ if is_here => return None,
            _ => format!("MOVED {slot} {}", slots.masters[owner]),
        };
        self.count(match &error[..3] {
            "ASK" => "asked",
            "MOV" => "moved",
            _ => "told to try again",
        });
        Some(error)
    }
}
