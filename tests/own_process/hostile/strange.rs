//! What hostile people type.

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::SECRET;

/// Text with a meaning of its own to a server, a shell, a terminal or a TOML parser.
pub(crate) const TEXTS: [&str; 22] = [
    "",
    " ",
    "\0",
    "\r\n",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{85}",
    "\u{202e}txet",
    "\u{feff}",
    "{",
    "{id}",
    "*",
    "[a-z]",
    "'",
    "\"",
    "%s%n",
    "$(reboot)",
    "redlock:marker",
    "redlock:fence:{x}",
    "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n",
    "\r\nFLUSHALL\r\n",
    "ünïcödé 漢字 🔒",
    "KEYS[1]",
];

/// Durations and numbers that are hardly any.
const NUMBERS: &str = "0 -0 1 -1 10 10.5 0.0 -0.5 0.999999 1e308 1e-308 nan inf -inf 18446744073709551615 \
    18446744073709551616 -9223372036854775808 9999999999999999999999999999 0x10 1_000 1ns 999us 1s 300000 \
    584942417355y";

/// The words that mean something in one place or another.
const WORDS: &str = "true false forever unlimited cancel continue release expire refuse warn standard \
    strict off a";

fn word_of(words: &'static str) -> impl Strategy<Value = String> {
    let words: Vec<_> = words.split(' ').collect();
    prop::sample::select(words).prop_map(str::to_owned)
}

/// URLs with a secret in them. A valid one leads to no server: to this process, to a closed port of
/// this host, or to a socket that does not exist.
const URLS: [&str; 20] = [
    "memory://a",
    "memory://b",
    "memory://hunter2Xq@a",
    "redis://:hunter2Xq@127.0.0.1:1/3",
    "redis://hunter2Xq:hunter2Xq@127.0.0.1:1",
    "redis://u:hunter2Xq%40%2F@127.0.0.1:1?protocol=resp3",
    "redis://u:12#hunter2Xq@127.0.0.1:1",
    "redis://u:hunter2Xq",
    "redis://127.0.0.1:1/hunter2Xq",
    "redis://127.0.0.1:1/0?password=hunter2Xq",
    "rediss://u:hunter2Xq@127.0.0.1:1",
    "redis+sentinel://u:hunter2Xq@127.0.0.1:1,127.0.0.1:1/main",
    "redis+sentinel://u:hunter2Xq?x@127.0.0.1:1/main",
    "redis+sentinel://127.0.0.1:1/main?sentinel_login=:hunter2Xq&x=hunter2Xq",
    "redis+cluster://u:hunter2Xq@127.0.0.1:1,[::1]:1",
    "redis+cluster://127.0.0.1:1/?pass=hunter2Xq",
    "redis+unix:///nowhere/redis.sock?user=hunter2Xq&pass=hunter2Xq",
    "unix://hunter2Xq@/nowhere",
    "http://u:hunter2Xq@127.0.0.1:1",
    "hunter2Xq",
];

/// A URL with a secret, valid or not.
pub(crate) fn url() -> impl Strategy<Value = String> {
    prop::sample::select(&URLS[..]).prop_map(str::to_owned)
}

/// A name of a pool or a site: never a bare secret, as names are shown, but perhaps a URL in the wrong
/// place.
pub(crate) fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(&["a", "b", "c", "EU-West", "eu_west"][..]).prop_map(str::to_owned),
        3 => prop::sample::select(&TEXTS[..]).prop_map(str::to_owned),
        1 => url().prop_filter("shown", |url| url.contains("://")),
        1 => ".{0,40}",
        1 => Just("x".repeat(8000)),
    ]
}

/// Anything in the place of a value, often with a secret in it.
pub(crate) fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => word_of(NUMBERS),
        4 => word_of(WORDS),
        2 => prop::sample::select(&TEXTS[..]).prop_map(str::to_owned),
        2 => url(),
        1 => Just(SECRET.to_owned()),
        1 => word_of(NUMBERS).prop_map(|number| format!("{number} {SECRET}, expected {SECRET}")),
        1 => ".{0,60}",
        1 => vec(name(), 0..3).prop_map(|names| names.join(",")),
    ]
}

/// A text of TOML that means `text`, if need be with every character escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut toml = String::from("\"");
    for c in text.chars() {
        if c.is_alphanumeric() || "-_:/@.%#?+ *{}[]$,".contains(c) {
            toml.push(c);
        } else {
            let _ = write!(toml, "\\U{:08X}", u32::from(c));
        }
    }
    toml.push('"');
    toml
}
