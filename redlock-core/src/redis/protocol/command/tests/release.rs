//! Releases of one key: the command or script for each server.

use super::*;

/// What `DELIFEQ` of Valkey 9.1.2 answers if the key is not a string.
const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
/// What `DELEX` of Redis 8.6.3 answers if the key is not a string.
const NO_STRING: &str = "ERR Key should be of string type if conditions are specified";

#[test]
fn a_release_of_one_key_is_the_command_of_a_server_that_has_one() {
    use CompareAndDelete::{DelEx, DelIfEq};
    let token = fresh_token();
    let of = |keys: &[&str], want| {
        Operation::new(Resource::all(keys.iter().copied()), token.clone(), want)
    };
    let release = Want::Release { ttl: TTL };
    // One operation for all nodes of a round.
    let one = of(&["r"], release);
    for (command, call) in [
        (Some(DelIfEq), &["DELIFEQ", "r", text(&token)][..]),
        (Some(DelEx), &["DELEX", "r", "IFEQ", text(&token)]),
        (None, &["EVALSHA", &RELEASE.sha, "1", "r", text(&token)]),
    ] {
        let mut encoding = encoding(Some("marker"));
        encoding.release = command;
        assert_eq!(words(encoded(&one, &encoding)), call);
        for other in [
            of(&["a", "b"], release),
            of(&["r"], Want::Shorten { ttl: TTL }),
        ] {
            assert_eq!(words(encoded(&other, &encoding))[0], "EVALSHA");
        }
        assert_eq!(
            words(&encode_with_text(&one, &encoding))[..2],
            ["EVAL", RELEASE.text]
        );
    }
    let said = |value| interpret(&one, 0, &value);
    assert_eq!(said(Value::Int(1)), Answer::GRANTED);
    let errors = [WRONG_TYPE, NO_STRING].map(|text| Value::Error(text.as_bytes()));
    for not_ours in errors.into_iter().chain([Value::Int(0)]) {
        assert!(matches!(said(not_ours), Answer::Held(_)));
    }
}

#[test]
fn which_server_has_a_command_for_releases() {
    use CompareAndDelete::{DelEx, DelIfEq};
    for (server, version, command) in [
        ("valkey", (9, 0), Some(DelIfEq)),
        ("valkey", (10, 1), Some(DelIfEq)),
        ("valkey", (8, 9), None),
        ("redis", (8, 4), Some(DelEx)),
        ("redis", (9, 0), Some(DelEx)),
        ("redis", (8, 3), None),
        ("redis", (7, 9), None),
        ("another", (99, 0), None),
    ] {
        let found = CompareAndDelete::of(server.as_bytes(), version);
        assert_eq!(found, command, "{server} {version:?}");
    }
}

#[test]
fn what_refuses_a_command_and_not_the_script() {
    for (error, is_refused) in [
        (
            "ERR unknown command 'DELIFEQ', with args beginning with: ",
            true,
        ),
        (
            "NOPERM User locker has no permissions to run the 'delex' command",
            true,
        ),
        ("a proxy's own words", true),
        ("NOPERM No permissions to access a key", false),
        ("MOVED 3999 127.0.0.1:6381", false),
        ("LOADING Redis is loading the dataset in memory", false),
        (WRONG_TYPE, false),
        (NO_STRING, false),
    ] {
        let answer = Value::Error(error.as_bytes());
        assert_eq!(is_command_refused(&answer), is_refused, "{error}");
    }
    assert!(!is_command_refused(&Value::Int(0)));
}
