//! The library's own keys, which locks may not use.

use crate::model::invalid::Invalid;
use crate::model::resource::{RESERVED_PREFIX, Resource, Shown};

use super::{fenced, permits, readers_writers, runs};

/// The prefixes of all auxiliary keys of locks. [`RESERVED_PREFIX`] precedes them.
const AUXILIARY_BEGINNINGS: [&[u8]; 7] = [
    permits::PERMITS,
    permits::QUEUES,
    readers_writers::READERS,
    readers_writers::INTENTS,
    readers_writers::TURNS,
    fenced::COUNTERS,
    runs::RUNS,
];

/// The keys of a node itself. [`RESERVED_PREFIX`] precedes them.
const NODE_KEYS: [&[u8]; 2] = [b"marker", b"permissions"];

impl Resource {
    /// Returns the keys of these names under the key prefix `prefix`, as [`with_prefix`](Self::with_prefix) does.
    ///
    /// # Errors
    /// [`Invalid`] if one of the keys could be an auxiliary key of the library under another prefix. A service with
    /// that prefix would find a lock where it expects its own data.
    pub fn keys_under(&self, prefix: &[u8]) -> Result<Self, Invalid> {
        let keys = self.with_prefix(prefix);
        if let Some(key) = keys.names().find(|key| is_auxiliary(key)) {
            return Err(Invalid::new(format!(
                "the key `{}`, which is the key prefix and the resource's name, is one of the \
                 library's own keys under another key prefix; choose another name or prefix",
                Shown(key),
            )));
        }
        Ok(keys)
    }
}

/// True if `key` is one of the library's own keys under any key prefix.
fn is_auxiliary(key: &[u8]) -> bool {
    let is = |kind: &&[u8]| {
        let head = key.strip_suffix(*kind);
        head.is_some_and(|head| head.ends_with(RESERVED_PREFIX))
    };
    let begins_one = |from: usize| {
        let kind = key[from..].strip_prefix(RESERVED_PREFIX);
        kind.is_some_and(|kind| {
            AUXILIARY_BEGINNINGS
                .iter()
                .any(|begin| kind.starts_with(begin))
        })
    };
    let mut starts = (0..key.len()).filter(|from| key[*from] == RESERVED_PREFIX[0]);
    NODE_KEYS.iter().any(is) || starts.any(begins_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_the_librarys_own_under_any_prefix() {
        for (prefix, name) in [
            ("redlock:", "marker"),
            ("redlock:", "permissions"),
            ("redlock:", "fence:{order}"),
            ("redlock:fence:", "{order}"),
            ("redlock:fence:{or", "der}"),
            ("redlock:fe", "nce::{order}:42"),
            ("red", "lock:marker"),
            ("redlock:mark", "er"),
            ("redlock", ":marker"),
            ("shop:redlock:", "marker"),
            ("shop:red", "lock:fence:{shop:order}"),
            ("", "shop:redlock:marker"),
            ("", "shop:redlock:fence:{shop:order}"),
        ] {
            let resource = Resource::from(name);
            assert!(resource.check().is_ok(), "{name}");
            let refused = resource.keys_under(prefix.as_bytes()).unwrap_err();
            let key = format!("the key `{prefix}{name}`");
            assert!(refused.to_string().starts_with(&key), "{refused}");
        }
        for beginning in AUXILIARY_BEGINNINGS {
            let key = [b"shop:redlock:", beginning, b"{shop:order}"].concat();
            for at in 1..key.len() {
                let (prefix, name) = key.split_at(at);
                assert!(Resource::from(name).keys_under(prefix).is_err());
            }
        }
        for (prefix, name) in [
            ("redlock:", "markers"),
            ("redlock:", "order:42"),
            ("redlock:", "fence"),
            ("red", "lock:order"),
            ("", "marker"),
            ("", "fence:{order}"),
            ("", "redlock"),
            ("", "job:redlock:clean"),
            ("", "redlock-marker"),
        ] {
            let keys = Resource::from(name).keys_under(prefix.as_bytes()).unwrap();
            assert_eq!(keys, format!("{prefix}{name}").into());
        }
    }
}
