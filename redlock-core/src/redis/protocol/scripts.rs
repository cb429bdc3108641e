//! What a connection makes a server run before it serves calls.

use std::sync::LazyLock;

use crate::kinds::exclusive::{RELEASE, RELEASE_EACH};
use crate::kinds::{DENIED, commands, scripts};
use crate::node::{Code, Script};

use super::command::script_call;
use super::wire::pack;

/// The script that makes one call of several, for a key that never exists. An error says that the server's ACL
/// forbids `MGET`. Then each release is a call of its own: a release that is refused in its call is sent again
/// behind later acquisitions.
pub(in crate::redis) fn joined_trial(key_prefix: &[u8]) -> Vec<u8> {
    let key = [key_prefix, b"redlock:permissions"].concat();
    call(&RELEASE_EACH, true, &[&key], &[b""])
}

/// The commands that every lock needs, as an operator allows them.
pub(in crate::redis) const NEEDED: &str = "+set +get +del +pexpire +pttl +evalsha +eval +time";

/// Tests what the user may run, on a key that never exists, under the prefix in ARGV (a key in KEYS would have to be
/// in a slot of the Cluster node). Without this test only a lock would show it: without DEL, all works until a
/// release leaves the key. An error names what every lock needs; the answer is what only some kinds of locks need.
pub(in crate::redis) static PERMISSIONS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{DENIED} \
         local key = ARGV[1] .. 'redlock:permissions' \
         local missing = denied({{ \
           {{'TIME'}}, {{'GET', key}}, {{'PTTL', key}}, {{'DEL', key}}, {{'PEXPIRE', key, '1'}}, \
           {{'SET', key, '', 'XX', 'PX', '1'}}, \
         }}) \
         if missing ~= '' then return {{err = 'NOPERM its ACL has to allow' .. missing}} end \
         return (denied({{{}}}))",
        commands(),
    )
});

/// The call of that test.
pub(in crate::redis) fn permissions_trial(key_prefix: &[u8]) -> Vec<u8> {
    let words = [b"EVAL", PERMISSIONS.as_bytes(), b"0", key_prefix];
    pack(words.into_iter())
}

/// Makes the server remember every script, without a key and so without an effect. Otherwise the first
/// release would be answered with NOSCRIPT, and if that answer were lost, the SET before it would not
/// be undone. It also shows whether the server's ACL allows scripts and the commands in them.
pub(in crate::redis) fn introductions() -> impl Iterator<Item = Vec<u8>> {
    // Arguments that each script can read as its own.
    let arguments: [&[u8]; 5] = [b"", b"10", b"0", b"0", b"10"];
    let loaded = scripts().filter(|script| matches!(script.code(), Code::Loaded(_)));
    // The trial has made the server remember this one.
    let loaded = loaded.filter(|script| **script != RELEASE_EACH);
    let introduced = loaded.map(move |script| call(script, true, &[], &arguments));
    introduced.chain([call(&RELEASE, false, &[], &arguments)])
}

fn call(script: &Script, with_text: bool, keys: &[&[u8]], arguments: &[&[u8]]) -> Vec<u8> {
    let (keys, arguments) = (keys.iter().copied(), arguments.iter().copied());
    let mut call = Vec::new();
    script_call(script, keys, arguments, with_text, &mut call);
    call
}
