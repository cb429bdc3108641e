//! Tests of the words in which calls are sent, and of error replies to calls.

use std::collections::BTreeSet;

use ::redis::Arg;

use super::*;
use crate::kinds::exclusive::scripts::{MANY, MANY_FENCED, RELEASE};
use crate::kinds::tests::{TTL, other, token};
use crate::kinds::{Advice, Kind, ProtocolArgs, SCRIPTS, any_kind, plain, runs};
use crate::model::resource::Resource;
use crate::node::{Answer, NodeErrorKind};
use crate::quorum::lock_protocol::LinePlace;

/// Returns the words of a command. The name of a script replaces its text and its hash.
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
        match SCRIPTS.into_iter().find(is_it) {
            Some(script) => format!("<{}>", script.name),
            None if word.is_empty() || word.contains(' ') => format!("\"{word}\""),
            None => word.to_owned(),
        }
    };
    command.args_iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Returns calls of each kind of lock, as the words that a server receives.
fn calls() -> BTreeSet<String> {
    let (one, other, mut calls) = (token(), other(), Vec::new());
    for (what, kind, is_fenced, names) in [
        ("plain", Kind::Plain, false, "r"),
        ("plain", Kind::Plain, false, "a b"),
        ("fenced", Kind::Plain, true, "a b"),
        ("permit", Kind::Permits(2), false, "r"),
        ("reader", Kind::Read, false, "r"),
        ("fenced reader", Kind::Read, true, "r"),
        ("writer", Kind::Write, false, "r"),
        ("fenced writer", Kind::Write, true, "r"),
    ] {
        let keys = Resource::all(names.split(' '));
        let advice = Advice {
            client: &other,
            lasts: TTL,
            call: TTL / 300,
        };
        for advice in [None, Some(advice)] {
            let kind = kind.protocol(&ProtocolArgs {
                keys: &keys,
                prefix: b"",
                is_fenced,
                advice,
            });
            let mut add = |call| calls.push((what, call));
            add(kind.acquire_call(&one, TTL, 7));
            kind.confirm_call(&one, 9, TTL).map(&mut add);
            add(kind.extend_call(&one, TTL));
            add(kind.restore_call(&one, TTL));
            add(kind.release_call(&one, TTL, true));
            kind.withdraw_call(false).map(&mut add);
            kind.prepare_attempt(LinePlace {
                was_refused: true,
                ..LinePlace::default()
            });
            kind.served_call().map(&mut add);
        }
    }
    let keys = "r".into();
    calls.push(("peek", any_kind::peek(&keys)));
    calls.push((
        "force",
        any_kind::force_release(&keys, &[other.as_bytes().into()].into()),
    ));
    let run = runs::run_key(&keys, b"");
    let record = runs::RunRecord {
        token: &one,
        began: 1_795_316_400_012,
        ttl: TTL,
        longest: TTL * 2,
    };
    calls.push(("run", runs::remember(&run, &record)));
    calls.push(("run", any_kind::peek(&run)));
    let extras = CallExtras {
        marker: Some(b"redlock:marker"[..].into()),
        is_tried: true,
        huge: HugeKeys::default(),
    };
    let lines = calls.iter().map(|(what, call)| {
        let command = command(call, &extras, false);
        format!("{what}: {}", shown(&command))
    });
    let several = [
        acquisition(&["a"]),
        plain(&"b".into()).acquire_call(&other, TTL, 0),
        release("c"),
    ];
    let several = shown(&many(&MANY, several.iter(), 2, &extras));
    let fenced = [fenced("a"), fenced("b"), release("c")];
    let fenced = shown(&many(&MANY_FENCED, fenced.iter(), 2, &extras));
    let several = [
        format!("several: {several}"),
        format!("several fenced: {fenced}"),
    ];
    lines.chain(several).collect()
}

#[test]
fn each_call_has_the_words_that_other_versions_send() {
    let known = include_str!("golden.txt");
    assert_eq!(
        calls().into_iter().collect::<Vec<_>>(),
        known.lines().collect::<Vec<_>>()
    );
    let is_called = |script: &&Script| known.contains(&format!("<{}>", script.name));
    let forgotten = SCRIPTS
        .into_iter()
        .filter(|it| it.text().is_some() && !is_called(it));
    assert_eq!(forgotten.count(), 0);
}

fn release(name: &'static str) -> Call {
    plain(&name.into()).release_call(&token(), TTL, true)
}

fn fenced(name: &'static str) -> Call {
    let args = ProtocolArgs {
        keys: &name.into(),
        prefix: b"",
        is_fenced: true,
        advice: None,
    };
    Kind::Plain.protocol(&args).acquire_call(&token(), TTL, 7)
}

fn acquisition(names: &[&str]) -> Call {
    plain(&Resource::all(names.iter().copied())).acquire_call(&token(), TTL, 0)
}

#[test]
fn a_script_that_the_server_has_forgotten_is_sent_with_its_text() {
    let extras = CallExtras {
        marker: None,
        is_tried: false,
        huge: HugeKeys::default(),
    };
    let command = command(&release("r"), &extras, true);
    let token = token();
    let token = std::str::from_utf8(token.as_bytes()).unwrap();
    assert_eq!(shown(&command), format!("EVAL <release> 1 r {token}"));
    let text = RELEASE.text().unwrap();
    let mut words = command.args_iter();
    assert!(words.any(|word| word == Arg::Simple(text.as_bytes())));
}

fn error_of(call: &Call, error: &[u8]) -> NodeError {
    match Answer::of_reply(call, Value::Error(error.into()), 0) {
        Answer::Failed(error) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_refused_set_leaves_nothing_to_undo_and_a_script_may() {
    let was_sent = |names: &[&str], error: &[u8]| error_of(&acquisition(names), error).was_sent();
    let error_streaks: [&[u8]; 3] = [
        b"OOM command not allowed when used memory > 'maxmemory'.",
        b"NOREPLICAS Not enough good replicas to write.",
        b"LOADING",
    ];
    for error in error_streaks {
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

#[test]
fn a_login_that_resp2_refuses_is_denied_and_never_sent() {
    let refused = (
        ErrorKind::AuthenticationFailed,
        "Password authentication failed",
    );
    let error = unconnected(&refused.into());
    assert_eq!(error.kind(), NodeErrorKind::Denied);
    assert!(!error.was_sent());
}
