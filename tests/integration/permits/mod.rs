//! Permits on real servers.

mod elsewhere;
mod holders;

use redlock_core::request::Kind;
use redlock_core::{Request, Resource};
use redlock_tests::RedisNode;

use crate::core::fixture;

/// One attempt for one of `count` permits of `resource`.
fn of(count: u16, resource: impl Into<Resource>) -> Request {
    fixture::once(resource).kind(Kind::Permits(count))
}

/// The same of `r`.
fn one_of(count: u16) -> Request {
    of(count, "r")
}

/// The key of a permit of `r`.
fn key(permit: u16) -> String {
    match permit {
        0 => "r".to_owned(),
        _ => format!("redlock:permit:{permit}:{{r}}"),
    }
}

/// The permits of `r` that have a holder on `node`.
fn held_at(node: &RedisNode) -> Vec<u16> {
    (0..256)
        .filter(|permit| node.get(key(*permit)).is_some())
        .collect()
}
