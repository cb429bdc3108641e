//! The kinds of locks. A room has all of its kind: what a caller asks, its scripts with their twins, what a reply
//! means, and how a vote counts.
#![expect(
    clippy::unnecessary_wraps,
    reason = "twins have one type, also where no command can fail"
)]

pub(crate) mod exclusive;
pub(crate) mod fenced;
pub(crate) mod looks;
pub(crate) mod permits;
pub(crate) mod readers_writers;
pub(crate) mod runs;
mod words;

use std::sync::Arc;
use std::time::Duration;

use crate::model::kind::Kind as Wanted;
use crate::model::request::Request;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::Script;
use crate::quorum::kind::Kind;
use exclusive::Exclusive;
use fenced::Fenced;
use permits::AnyPermit;
use readers_writers::{Reader, Writer};

/// The kind of lock that `request` asks for on `keys`. Nodes remember a refusal for `advice`. `id` draws
/// the name under which a caller waits.
pub(crate) fn of(
    request: &Request,
    keys: &Resource,
    prefix: &[u8],
    advice: Duration,
    id: impl FnOnce() -> OwnerToken,
) -> Arc<dyn Kind> {
    let (keys, is_fenced) = (keys.clone(), request.fencing);
    match request.kind.on_nodes() {
        Wanted::Exclusive if is_fenced => Arc::new(Fenced::new(keys, prefix)),
        Wanted::Exclusive => Arc::new(Exclusive::new(keys)),
        Wanted::Permits(count) => Arc::new(AnyPermit::new(&keys, count, prefix)),
        Wanted::Read => Arc::new(Reader::new(keys, prefix, is_fenced, advice)),
        Wanted::Write => Arc::new(Writer::new(keys, prefix, is_fenced, advice, id)),
    }
}

pub(crate) use exclusive::plain;

/// The keys of every kind of lock on the one name of `key`.
pub(crate) fn every_key(key: &Resource, prefix: &[u8]) -> Resource {
    let keys = key.shared_names().iter().cloned();
    let keys = keys.chain(permits::every_key(key, prefix));
    Resource::of(
        keys.chain(readers_writers::every_key(key, prefix))
            .collect(),
    )
}

const ROOMS: [&[&Script]; 6] = [
    exclusive::SCRIPTS,
    fenced::SCRIPTS,
    permits::SCRIPTS,
    readers_writers::SCRIPTS,
    runs::SCRIPTS,
    looks::SCRIPTS,
];

/// All scripts, for the connections that load them and for the tests that run them.
pub(crate) fn scripts() -> impl Iterator<Item = &'static Script> {
    ROOMS.into_iter().flatten().copied()
}

/// A Lua function that calls commands without an effect, to see what the user may run.
pub(crate) const DENIED: &str = include_str!("denied.lua");

/// Calls without an effect, on the key `key`, of the commands that only some kinds of locks need: Lua, with commas
/// between.
pub(crate) fn beyond() -> String {
    [readers_writers::COMMANDS].join(",")
}
