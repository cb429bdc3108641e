//! The words of calls, and errors that are replies to them.

use ::redis::Arg;

use super::*;
use crate::kinds::exclusive::{MANY, RELEASE};
use crate::kinds::golden::{self, Golden, TTL, other, token};
use crate::kinds::{plain, scripts};
use crate::model::resource::Resource;
use crate::node::{Answer, NodeErrorKind};

/// The words of a command, with the name of a script in the place of its text or its hash.
fn shown(command: &Cmd) -> String {
    let word = |word: Arg<&[u8]>| {
        let Arg::Simple(word) = word else {
            panic!("a cursor");
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
    command.args_iter().map(word).collect::<Vec<_>>().join(" ")
}

fn written(golden: &Golden) -> String {
    let dialect = Dialect {
        marker: golden.has_marker.then(|| b"redlock:marker"[..].into()),
        is_tried: golden.is_tried,
    };
    let command = command(&golden.call, &dialect, false);
    format!("{} => {}", golden.name, shown(&command))
}

#[test]
fn each_call_has_the_words_that_other_versions_send() {
    let mut called = vec![&MANY];
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

fn release(name: &'static str) -> Call {
    plain(&name.into()).release(&token(), TTL, true)
}

fn acquisition(names: &[&str]) -> Call {
    golden::acquire(&*plain(&Resource::all(names.iter().copied())))
}

#[test]
fn a_script_that_the_server_has_forgotten_is_sent_with_its_text() {
    let dialect = Dialect {
        marker: None,
        is_tried: false,
    };
    let command = command(&release("r"), &dialect, true);
    let token = token();
    let token = std::str::from_utf8(token.as_bytes()).unwrap();
    assert_eq!(shown(&command), format!("EVAL <release> 1 r {token}"));
    let text = RELEASE.text().unwrap();
    let mut words = command.args_iter();
    assert!(words.any(|word| word == Arg::Simple(text.as_bytes())));
}

#[test]
fn one_call_for_many_has_all_keys_then_all_tokens_and_then_the_ttls_of_acquisitions() {
    let other = plain(&"c".into()).release(&other(), TTL, true);
    let calls = [acquisition(&["a"]), release("b"), other];
    let command = many(&MANY, calls.iter(), 1);
    let [one, other] = [token(), golden::other()];
    let [one, other] = [&one, &other].map(|it| std::str::from_utf8(it.as_bytes()).unwrap());
    let expected = format!("EVALSHA <many> 3 a b c 1 {one} {one} {other} 30000");
    assert_eq!(shown(&command), expected);
}

fn error_of(call: &Call, error: &[u8]) -> NodeError {
    match Answer::of_reply(call, Value::Error(error.into()), 0) {
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
