//! Readers and writers: their calls.

mod lines;

use std::sync::Arc;
use std::time::Duration;

use crate::kinds::golden::{self, Golden, TTL, other, token};
use crate::kinds::{Asking, Kind};
use crate::quorum::kind::Kind as Asked;
use crate::request::Request;

const ADVICE: Duration = Duration::from_millis(600);

fn asked(kind: Kind, is_fenced: bool, advice: Option<Duration>) -> Arc<dyn Asked> {
    let name = other();
    kind.asked(Asking {
        keys: &"r".into(),
        prefix: b"",
        is_fenced,
        waits: advice.map(|advice| (&name, advice)),
    })
}

pub(crate) fn golden() -> Vec<Golden> {
    let mut calls = Vec::new();
    let mut add = |what, call, has_marker, is_tried| {
        calls.push(Golden::new(what, call).marked(has_marker).tried(is_tried));
    };
    let kinds = [
        ("plain", false, false),
        ("fenced without marker", true, false),
        ("fenced with marker", true, true),
    ];
    for (fenced, is_fenced, has_marker) in kinds {
        for (advised, advice, intent) in [
            ("advice 0", None, "no intent"),
            ("advice 600 ms", Some(ADVICE), "intent is the other token"),
        ] {
            for (tried, is_tried) in [("not tried", false), ("tried", true)] {
                let what = format!("reader acquire, {fenced}, {advised}, {tried}");
                let call = golden::acquire(&*asked(Kind::Read, is_fenced, advice));
                add(what, call, has_marker, is_tried);
            }
            let what = format!("writer acquire, {fenced}, {advised}, {intent}");
            add(
                what,
                golden::acquire(&*asked(Kind::Write, is_fenced, advice)),
                has_marker,
                true,
            );
        }
    }
    for (fenced, is_fenced) in [("plain", false), ("fenced", true)] {
        let extend = asked(Kind::Read, is_fenced, Some(ADVICE)).extend(&token(), TTL);
        add(format!("reader extend, {fenced}"), extend, true, true);
    }
    let fenced = asked(Kind::Read, true, Some(ADVICE));
    add(
        "reader restore".into(),
        fenced.restore(&token(), TTL),
        true,
        true,
    );
    let confirm = fenced.confirm(&token(), 9, TTL).unwrap();
    add("reader confirm, counter 9".into(), confirm, true, true);
    add(
        "reader release".into(),
        fenced.release(&token(), TTL, true),
        true,
        true,
    );
    let reader = asked(Kind::Read, false, Some(ADVICE));
    let gives_up = reader.withdraw(false).unwrap();
    let what = "reader gives up, the name is the other token";
    add(what.into(), gives_up, true, true);
    reader.attempts(true, false);
    let what = "reader acquire, plain, advice 600 ms, tried, the last that was refused";
    add(what.into(), golden::acquire(&*reader), false, true);
    let writers = asked(Kind::Write, false, Some(ADVICE));
    let withdraw = writers.withdraw(false).unwrap();
    add(
        "writer withdraws its intent, the other token".into(),
        withdraw,
        true,
        true,
    );
    for (what, advice) in [
        (" that had not waited", None),
        (", intent is the other token", Some(ADVICE)),
    ] {
        let release = asked(Kind::Write, false, advice).release(&token(), TTL, true);
        add(
            format!("writer release of a lease{what}"),
            release,
            true,
            true,
        );
    }
    calls
}

#[test]
fn a_holder_that_is_alone_covers_readers_and_writers_and_a_reader_covers_readers() {
    let (read, write, plain) = (Kind::Read, Kind::Write, Kind::Exclusive);
    for wanted in [read, write, plain] {
        assert!(write.covers(wanted) && plain.covers(wanted), "{wanted}");
        assert_eq!(read.covers(wanted), wanted == read, "{wanted}");
    }
}

#[test]
fn what_readers_and_writers_cannot_have_is_refused_by_name() {
    for kind in [Kind::Read, Kind::Write] {
        let several = Request::new(["a", "b"]).kind(kind).check().unwrap_err();
        assert!(several.to_string().contains("several names"), "{several}");
        assert!(Request::new("r").kind(kind).check().is_ok());
    }
    let mut job = Request::new("r").kind(Kind::Read);
    job.once_per = Some(Duration::from_secs(3600));
    assert!(job.check().unwrap_err().to_string().contains("once_per"));
}
