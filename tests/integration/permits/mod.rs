//! Permits on real servers.

mod elsewhere;
mod faults;
mod holders;
mod late;

use redlock_core::request::{Kind, Permits};
use redlock_core::{Request, Resource};
use redlock_tests::RedisNode;

use crate::core::fixture;

fn of(permits: Permits, resource: impl Into<Resource>) -> Request {
    let mut request = fixture::once(resource);
    request.kind = Kind::Permits(permits);
    request
}

/// One attempt for one of `count` permits.
fn one_of(count: u16) -> Request {
    of(Permits::new(count, 1).unwrap(), "r")
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
