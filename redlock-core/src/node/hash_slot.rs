//! Hash slots, which say where a Redis Cluster keeps a key.
//!
//! The Redis Cluster specification has the rule ("Key distribution model", "Hash tags").

use crate::model::invalid::Invalid;
use crate::model::resource::{RESERVED_PREFIX, Resource, Shown};

use super::Node;

/// The number of slots of a Redis Cluster.
pub(crate) const SLOTS: u16 = 16_384;

/// Returns the part of `key` that a Redis Cluster hashes instead of the whole key. It is the text between the first `{`
/// and the next `}`, unless that is empty.
pub(crate) fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|byte| *byte == b'{')?;
    let rest = &key[open + 1..];
    let close = rest.iter().position(|byte| *byte == b'}')?;
    (close > 0).then(|| &rest[..close])
}

/// Returns the slot of `key`.
pub(crate) fn slot_of(key: &[u8]) -> u16 {
    crc16(hash_tag(key).unwrap_or(key)) % SLOTS
}

/// Returns the slot of `keys`, which `check_slots` found to be in one slot. An operation has at least one key.
pub(crate) fn slot_of_all(keys: &Resource) -> u16 {
    keys.names().next().map_or(0, slot_of)
}

/// Returns the auxiliary keys of one `kind` for the lock keys `keys`, with `prefix`. Each is in the hash slot of its
/// lock key, so one script may use both on a Redis Cluster. The exception is a name with a `}` but no hash tag, whose
/// auxiliary key is in another slot.
///
/// Two lock keys never share an auxiliary key. A name with a hash tag follows a `:`, and a name without one becomes a
/// hash tag in `{…}`.
pub(crate) fn auxiliary_keys(keys: &Resource, prefix: &[u8], kind: &[u8]) -> Resource {
    Resource::all(keys.names().map(|key| auxiliary_key(key, prefix, kind)))
}

/// Returns the auxiliary key of one lock key.
pub(crate) fn auxiliary_key(key: &[u8], prefix: &[u8], kind: &[u8]) -> Vec<u8> {
    if hash_tag(key).is_some() {
        let name = key.strip_prefix(prefix).unwrap_or(key);
        [prefix, RESERVED_PREFIX, kind, b":", name].concat()
    } else {
        [prefix, RESERVED_PREFIX, kind, b"{", key, b"}"].concat()
    }
}

/// The auxiliary keys of a lock. Errors call such a key `key`, and the parameter that needs it `parameter`.
pub(crate) struct AuxiliaryKeys {
    pub(crate) keys: Resource,
    pub(crate) parameter: &'static str,
    pub(crate) key: &'static str,
}

/// Checks that all of `keys` and `auxiliary` are in one slot of `node`. Otherwise no command could reach them all, and
/// no single connection could keep their calls in order.
pub(crate) fn check_slots(
    node: &dyn Node,
    keys: &Resource,
    auxiliary: &[AuxiliaryKeys],
) -> Result<(), Invalid> {
    let slot = slot_of_all(keys);
    if let Some(other) = keys.names().find(|key| slot_of(key) != slot) {
        let first = keys.names().next().unwrap_or_default();
        return Err(Invalid::new(format!(
            "`{}` and `{}` are in different hash slots of the Redis Cluster `{}`, where no command \
             reaches both; give them a part in braces in common, such as `{{account}}:1` and \
             `{{account}}:2`",
            Shown(first),
            Shown(other),
            node.name(),
        )));
    }
    let is_stray = |it: &&AuxiliaryKeys| it.keys.names().any(|key| slot_of(key) != slot);
    if let Some(stray) = auxiliary.iter().find(is_stray) {
        return Err(Invalid::new(format!(
            "`{}` cannot have {} on the Redis Cluster `{}`: because of a brace in its name, no {} can \
             be in its hash slot; leave the braces out, or put a whole part of the name in braces",
            Shown(keys.names().next().unwrap_or_default()),
            stray.parameter,
            node.name(),
            stray.key,
        )));
    }
    Ok(())
}

/// Returns the CRC-16/XMODEM: the polynomial 0x1021, most significant bit first, from zero.
fn crc16(bytes: &[u8]) -> u16 {
    let shifted = |crc: u16| crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 };
    bytes.iter().fold(0, |crc, byte| {
        let crc = crc ^ u16::from(*byte) << 8;
        (0..8).fold(crc, |crc, _| shifted(crc))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTERS: &[u8] = b"fence:";

    #[test]
    fn slots_are_those_of_the_specification() {
        // The check value of the specification, and the answer of `CLUSTER KEYSLOT`.
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, slot) in [
            (&b"foo"[..], 12_182),
            (b"somekey", 11_058),
            (b"foo{hash_tag}", 2515),
            (b"bar{hash_tag}", 2515),
            (b"redlock:fence:{a{x}", 1895),
            (b"", 0),
        ] {
            assert_eq!(slot_of(key), slot, "{}", key.escape_ascii());
        }
    }

    #[test]
    fn only_the_first_tag_counts_unless_it_is_empty() {
        for (key, tag) in [
            (&b"{user1000}.following"[..], Some(&b"user1000"[..])),
            (b"foo{}{bar}", None),
            (b"foo{{bar}}zap", Some(b"{bar")),
            (b"foo{bar}{zap}", Some(b"bar")),
            (b"foo{bar", None),
            (b"foo}bar{", None),
        ] {
            assert_eq!(hash_tag(key), tag, "{}", key.escape_ascii());
        }
    }

    #[test]
    fn a_counter_is_in_its_locks_slot_but_for_a_stray_brace() {
        let is_there = |name: &[u8], prefix: &[u8]| {
            let key = Resource::from(name).with_prefix(prefix);
            let counter = auxiliary_keys(&key, prefix, COUNTERS);
            slot_of_all(&counter) == slot_of_all(&key)
        };
        for name in [&b"order:42"[..], b"{order}:42", b"a{b}c", b"x{", b"\xff"] {
            for prefix in [&b""[..], b"shop:", b"{shop}:"] {
                assert!(is_there(name, prefix), "{}", name.escape_ascii());
            }
        }
        for name in [&b"a}b"[..], b"a{}b"] {
            assert!(!is_there(name, b""), "{}", name.escape_ascii());
        }
    }
}
