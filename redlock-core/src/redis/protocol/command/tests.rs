//! The bytes of calls, and errors that are replies to them.

mod joined;

use super::*;
use crate::kinds::exclusive::{MANY, RELEASE, RELEASE_EACH};
use crate::kinds::golden::{self, Golden, TTL, other, token};
use crate::kinds::{plain, scripts};
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::{NodeError, NodeErrorKind};
use crate::redis::protocol::wire::{Value, decode};

/// The words of a command, with the name of a script in the place of its text or its hash.
fn words(bytes: &[u8]) -> String {
    let Ok(Some((Value::Array(words), _))) = decode(bytes) else {
        panic!("a command: {}", bytes.escape_ascii());
    };
    let word = |word: &Value<'_>| {
        let Value::Bulk(word) = word else {
            panic!("a word: {word:?}");
        };
        let word = std::str::from_utf8(word).unwrap();
        let is_it = |it: &&Script| {
            it.text()
                .is_some_and(|text| text == word || it.sha() == word)
        };
        match scripts().find(is_it) {
            Some(script) => format!("<{}>", script.name()),
            None if word.is_empty() || word.contains(' ') => format!("\"{word}\""),
            None => word.to_owned(),
        }
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn written(golden: &Golden) -> String {
    let encoding = Encoding {
        marker: golden.has_marker.then(|| b"redlock:marker"[..].into()),
        is_tried: golden.is_tried,
        joins: true,
    };
    let mut output = BytesMut::new();
    encode(&golden.call, &encoding, false, &mut output);
    format!("{} => {}", golden.name, words(&output))
}

#[test]
fn each_call_has_the_words_that_other_versions_send() {
    let mut called = vec![&RELEASE_EACH, &MANY];
    for (calls, known) in golden::rooms() {
        called.extend(calls.iter().map(|it| it.call.script()));
        let calls: Vec<_> = calls.iter().map(written).collect();
        assert_eq!(calls, known.lines().collect::<Vec<_>>());
    }
    let forgotten: Vec<_> = scripts()
        .filter(|script| !called.contains(script))
        .collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
}

fn encoding() -> Encoding {
    Encoding {
        marker: None,
        is_tried: false,
        joins: true,
    }
}

fn release(name: &'static str, token: &OwnerToken) -> Call {
    plain(&name.into()).release(token, TTL, true)
}

#[test]
fn a_script_that_the_server_has_forgotten_is_sent_with_its_text() {
    let mut output = BytesMut::new();
    encode(&release("r", &token()), &encoding(), true, &mut output);
    let (token, text) = (token(), RELEASE.text().unwrap());
    let token = std::str::from_utf8(token.as_bytes()).unwrap();
    assert_eq!(words(&output), format!("EVAL <release> 1 r {token}"));
    assert!(output.windows(text.len()).any(|it| it == text.as_bytes()));
}

#[test]
fn one_call_for_several_has_all_keys_and_then_all_tokens() {
    let (token, other) = (token(), other());
    let calls = [
        release("a", &token),
        release("b", &other),
        release("r", &token),
    ];
    let mut output = BytesMut::new();
    encode_joined(&RELEASE_EACH, calls.iter(), false, &mut output);
    let [token, other] = [&token, &other].map(|it| std::str::from_utf8(it.as_bytes()).unwrap());
    let expected = format!("EVALSHA <release-each> 3 a b r {token} {other} {token}");
    assert_eq!(words(&output), expected);
}

fn acquisition(names: &[&str]) -> Call {
    golden::acquire(&*plain(&Resource::all(names.iter().copied())))
}

fn error_of(call: &Call, error: &[u8]) -> NodeError {
    match answer(call, &Value::Error(error), 0) {
        Answer::Failed(error) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_set_that_was_refused_leaves_nothing_to_undo_and_a_script_may() {
    let was_sent = |names: &[&str], error: &[u8]| error_of(&acquisition(names), error).was_sent();
    let refusals: [&[u8]; 3] = [
        b"OOM command not allowed when used memory > 'maxmemory'.",
        b"NOREPLICAS Not enough good replicas to write.",
        b"LOADING",
    ];
    for error in refusals {
        assert!(!was_sent(&["a"], error));
        assert!(was_sent(&["a", "b"], error));
    }
    for proxys in [&b"ERR upstream timed out"[..], b"upstream failure", b""] {
        assert!(was_sent(&["a"], proxys));
    }
}

#[test]
fn a_node_whose_marker_is_gone_is_in_quarantine() {
    let error = error_of(&acquisition(&["a", "b"]), b"NOMARKER");
    assert_eq!(error.kind(), NodeErrorKind::Quarantined);
}
