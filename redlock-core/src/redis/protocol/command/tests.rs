//! Acquisitions: what is sent, and what the answers mean.

use super::*;
use crate::IoThread;
use crate::model::token::{OwnerToken, TokenSource};
use crate::node::operation::COUNTER_IDLE;
use crate::redis::protocol::wire::decode;

const TTL: Duration = Duration::from_secs(30);

fn fresh_token() -> OwnerToken {
    let io = IoThread::start().unwrap();
    TokenSource::new().fresh(&*io.environment().entropy)
}

fn encoding(marker: Option<&str>) -> Encoding {
    let marker = marker.map(|key| key.as_bytes().into());
    Encoding {
        marker,
        readers_tried: false,
        release_each: true,
    }
}

fn acquisition(names: &[&str], token: &OwnerToken) -> Operation {
    let (ttl, hint) = (TTL, 77);
    let keys = Resource::all(names.iter().copied());
    Operation::new(keys, token.clone(), Want::Acquire { ttl, hint })
}

fn words(bytes: &[u8]) -> Vec<String> {
    let Ok(Some((Value::Array(words), _))) = decode(bytes) else {
        panic!("a command: {}", bytes.escape_ascii());
    };
    let word = |word: &Value<'_>| match word {
        Value::Bulk(word) => String::from_utf8(word.to_vec()).unwrap(),
        other => panic!("a word: {other:?}"),
    };
    words.iter().map(word).collect()
}

fn text(token: &OwnerToken) -> &str {
    std::str::from_utf8(token.as_bytes()).unwrap()
}

#[test]
fn one_key_is_set_where_it_is_missing_and_several_by_a_script() {
    let token = fresh_token();
    for encoding in [encoding(None), encoding(Some("marker"))] {
        let one = acquisition(&["r"], &token);
        let set = ["SET", "r", text(&token), "NX", "PX", "30000", "GET"];
        assert_eq!(words(encoded(&one, &encoding)), set);
        let several = acquisition(&["a", "b"], &token);
        let sha = &*ACQUIRE_ALL.sha;
        let script = ["EVALSHA", sha, "2", "a", "b", text(&token), "30000"];
        assert_eq!(words(encoded(&several, &encoding)), script);
    }
}

/// The release of a plain lock stays the script that every version has.
#[test]
fn a_release_of_many_keys_has_a_script_of_its_own() {
    let token = fresh_token();
    let encoding = encoding(None);
    for (count, script) in [(1, &*RELEASE), (8, &RELEASE), (9, &RELEASE_MANY)] {
        let keys = Resource::all((0..count).map(|key| key.to_string()));
        let release = Operation::new(keys, token.clone(), Want::Release { ttl: TTL });
        let words = words(encoded(&release, &encoding));
        assert_eq!(words[1], script.sha, "{count}");
        assert_eq!(words.len(), 3 + count + 1);
    }
}

#[test]
fn a_fenced_acquisition_says_the_same_with_the_scripts_text() {
    let token = fresh_token();
    let counters = Resource::all(["c:a", "c:b"]);
    let fenced = acquisition(&["a", "b"], &token).with_counters(Some(counters));
    let encoding = encoding(Some("marker"));
    let (window, idle) = (HINT_WINDOW.as_micros(), COUNTER_IDLE.as_millis());
    let (window, idle) = (window.to_string(), idle.to_string());
    let keys = ["5", "a", "b", "c:a", "c:b", "marker"];
    let [sha, whole] = [
        ["EVALSHA", &*ACQUIRE_FENCED.sha],
        ["EVAL", ACQUIRE_FENCED.text],
    ];
    let arguments = [text(&token), "30000", "77", &*window, &*idle];
    let call = [&keys[..], &arguments].concat();
    let sent = words(encoded(&fenced, &encoding));
    assert_eq!(sent, [&sha[..], &call].concat());
    let sent_again = encode_with_text(&fenced, &encoding);
    assert_eq!(words(&sent_again), [&whole[..], &call].concat());
}

#[test]
fn what_a_script_that_acquires_answers() {
    let token = fresh_token();
    let several = acquisition(&["a", "b"], &token);
    let interpret = |value: Value<'_>| interpret(&several, 3, &value);
    let (counter, epoch) = (None, 3);
    assert_eq!(
        interpret(Value::Int(1)),
        Answer::Granted {
            counter,
            epoch,
            permits: None
        }
    );
    let held = Answer::Held(Holding::by(&b"web/1/2"[..]));
    assert_eq!(interpret(Value::Bulk(b"web/1/2")), held);
    let no_lock = Answer::Held(Holding::unknown(Remaining::NotALock));
    assert_eq!(interpret(Value::Int(0)), no_lock);
    // The reply of `SET NX`.
    for value in [Value::Nil, Value::Simple(b"OK"), Value::Int(2)] {
        assert!(matches!(interpret(value), Answer::Failed(_)));
    }
    let forgot = interpret(Value::Error(b"NOMARKER"));
    assert!(
        matches!(&forgot, Answer::Failed(error) if error.kind() == NodeErrorKind::Quarantined),
        "{forgot:?}"
    );
    let fenced = acquisition(&["r"], &token).with_counters(Some("c".into()));
    let answer = super::interpret(&fenced, 3, &Value::Int(9));
    let counter = Some(9);
    assert_eq!(
        answer,
        Answer::Granted {
            counter,
            epoch,
            permits: None
        }
    );
}

#[test]
fn a_set_that_was_refused_leaves_nothing_to_undo_and_a_script_may() {
    let token = fresh_token();
    let was_sent = |names: &[&str], error: &[u8]| {
        let operation = acquisition(names, &token);
        match interpret(&operation, 0, &Value::Error(error)) {
            Answer::Failed(error) => error.was_sent(),
            other => panic!("{other:?}"),
        }
    };
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
fn a_run_is_remembered_and_recalled_by_scripts_that_no_server_has_to_know() {
    let token = OwnerToken::draw(
        "web-7/3121",
        &*IoThread::start().unwrap().environment().entropy,
    );
    let keys = Resource::all(["once:a", "once:b"]);
    let operation = |want| Operation::new(keys.clone(), token.clone(), want);
    let encoding = encoding(Some("marker"));

    let began = 1_795_316_400_012;
    let (ttl, longest) = (TTL, TTL * 2);
    let remember = operation(Want::Remember {
        began,
        ttl,
        longest,
    });
    let record = "web-7/3121 2026-11-22T03:00:00.012Z";
    let call = ["EVAL", REMEMBER, "2", "once:a", "once:b", record, "30000"];
    let call = [&call[..], &["60000"]].concat();
    assert_eq!(words(encoded(&remember, &encoding)), call);
    let said = |operation, value| interpret(operation, 0, &value);
    assert_eq!(said(&remember, Value::Int(1)), Answer::GRANTED);

    let recall = operation(Want::Recall);
    let call = ["EVAL", RECALL, "2", "once:a", "once:b"];
    assert_eq!(words(encoded(&recall, &encoding)), call);
    assert_eq!(said(&recall, Value::Nil), Answer::Absent);
    let mut holding = Holding::by(record);
    holding.remaining = Remaining::Expires(Duration::from_secs(3240));
    let text = format!("3240000 {record}");
    assert_eq!(
        said(&recall, Value::Bulk(text.as_bytes())),
        Answer::Held(holding)
    );
    for nonsense in [Value::Bulk(b"soon"), Value::Bulk(b"x y"), Value::Int(1)] {
        assert!(matches!(said(&recall, nonsense), Answer::Failed(_)));
    }
}

#[test]
fn a_look_answers_the_first_key_that_exists() {
    let keys = Resource::all(["a", "b"]);
    let peek = Operation::new(keys, fresh_token(), Want::Peek);
    let encoding = encoding(Some("marker"));
    assert_eq!(
        words(encoded(&peek, &encoding)),
        ["EVAL", PEEK, "2", "a", "b"]
    );

    let said = |value| interpret(&peek, 0, &value);
    let held = |value: &str, remaining| {
        let mut holding = Holding::by(value);
        (holding.place, holding.remaining) = (Some(1), remaining);
        Answer::Held(holding)
    };
    assert_eq!(said(Value::Nil), Answer::Absent);
    let soon = Remaining::Expires(Duration::from_millis(7));
    assert_eq!(said(Value::Bulk(b"1 7 by hand")), held("by hand", soon));
    assert_eq!(said(Value::Bulk(b"1 -1 ")), held("", Remaining::Never));
    let no_lock = Answer::Held(Holding::unknown(Remaining::NotALock));
    assert_eq!(said(Value::Error(b"WRONGTYPE Operation against")), no_lock);
    for nonsense in [Value::Bulk(b"soon"), Value::Int(1), Value::Error(b"NOPERM")] {
        assert!(matches!(said(nonsense), Answer::Failed(_)));
    }
}

#[test]
fn of_one_key_the_time_is_asked_for_and_of_several_which_one_exists() {
    let token = fresh_token();
    let encoding = encoding(Some("marker"));
    let inspect = |keys| Operation::new(keys, token.clone(), Want::Inspect);
    let said = |operation: &Operation, value: Value<'_>| interpret(operation, 0, &value);

    let one = inspect("r".into());
    assert_eq!(words(encoded(&one, &encoding)), ["PTTL", "r"]);
    assert_eq!(said(&one, Value::Int(-2)), Answer::Absent);

    let several = inspect(Resource::all(["b", "a"]));
    let call = ["EVAL", PEEK, "2", "a", "b"];
    assert_eq!(words(encoded(&several, &encoding)), call);
    assert_eq!(said(&several, Value::Nil), Answer::Absent);
    for (left, remaining) in [
        ("1500", Remaining::Expires(Duration::from_millis(1500))),
        ("-1", Remaining::Never),
    ] {
        let text = format!("1 {left} {}", text(&token));
        let mut holding = Holding::by(token.as_bytes());
        (holding.place, holding.remaining) = (Some(1), remaining);
        let answer = said(&several, Value::Bulk(text.as_bytes()));
        assert_eq!(answer, Answer::Held(holding));
    }
    let no_string = said(&several, Value::Error(b"WRONGTYPE"));
    let no_lock = Answer::Held(Holding::unknown(Remaining::NotALock));
    assert_eq!(no_string, no_lock);
    for nonsense in [Value::Bulk(b"1"), Value::Bulk(b"1 x y")] {
        assert!(matches!(said(&several, nonsense), Answer::Failed(_)));
    }
}

mod batch;
