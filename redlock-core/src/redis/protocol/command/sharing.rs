//! The scripts for the operations of readers and writers, and the meaning of their refusals.

use crate::model::resource::Resource;
use crate::node::operation::{HINT_WINDOW, Operation, Want, counter_ttl};
use crate::node::sharing::Sharing;
use crate::node::{Answer, Holding, Obstacle, Remaining};
use crate::redis::protocol::scripts::Script;
use crate::redis::protocol::sharing_scripts::{
    ACQUIRE_READ, ACQUIRE_WRITE, CONFIRM_READ, EXTEND_READ, RELEASE_SHARED, RESTORE_READ,
};
use crate::redis::protocol::wire::{Digits, Value, pack};

use super::{Encoding, micros, millis, nonsense};

/// The call of the script of `operation`, with its text if the server has forgotten it.
pub(super) fn script_call(
    operation: &Operation,
    sharing: &Sharing,
    encoding: &Encoding,
    with_text: bool,
) -> Vec<u8> {
    let number = |digits: Digits| Word::Number(digits);
    let intent = Word::Text(sharing.intent_id());
    let (script, arguments): (&Script, Vec<Word<'_>>) = match operation.want() {
        Want::Acquire { ttl, hint } => {
            let mut arguments = Vec::with_capacity(7);
            let fourth = if encoding.has_tried(operation) {
                Word::Text(b"tried")
            } else if sharing.is_reading() {
                Word::Text(b"")
            } else {
                intent
            };
            arguments.extend([number(millis(ttl)), number(millis(sharing.advice)), fourth]);
            if operation.counters().is_some() {
                arguments.extend([
                    number(Digits::of(hint)),
                    number(micros(HINT_WINDOW)),
                    number(millis(counter_ttl(ttl))),
                ]);
            }
            if sharing.is_reading() {
                (&ACQUIRE_READ, arguments)
            } else {
                (&ACQUIRE_WRITE, arguments)
            }
        }
        Want::Confirm { counter, ttl } => (
            &CONFIRM_READ,
            vec![
                number(Digits::of(counter)),
                number(millis(counter_ttl(ttl))),
            ],
        ),
        Want::Extend { ttl } => {
            let mut arguments = vec![number(millis(ttl))];
            if operation.counters().is_some() {
                arguments.push(number(millis(counter_ttl(ttl))));
            }
            (&EXTEND_READ, arguments)
        }
        Want::Restore { ttl } => (&RESTORE_READ, vec![number(millis(ttl))]),
        // Only the release comes here: the others have commands of their own.
        Want::Release { .. }
        | Want::AcquirePermit { .. }
        | Want::Inspect
        | Want::Remember { .. }
        | Want::Recall
        | Want::Peek
        | Want::ForceRelease => (
            &RELEASE_SHARED,
            vec![intent, number(millis(sharing.turn()))],
        ),
    };
    let is_release = matches!(operation.want(), Want::Release { .. });
    let beside = sharing.keys();
    let beside = [beside.readers(), beside.intent(), beside.turn()];
    // The release of a reader that never waited as a writer has no part in advice.
    let is_advised = !is_release || !sharing.intent_id().is_empty() || !sharing.turn().is_zero();
    let beside = beside.into_iter().take(if is_advised { 3 } else { 1 });
    let counters = operation.counters().into_iter().flat_map(Resource::names);
    let is_checked =
        operation.counters().is_some() && matches!(operation.want(), Want::Acquire { .. });
    let marker = encoding.marker.as_deref().filter(|_| is_checked);
    let key = operation.keys().names().take(1);
    let keys: Vec<&[u8]> = key.chain(beside).chain(counters).chain(marker).collect();
    let count = Digits::of(keys.len() as u64);
    let head: [&[u8]; 3] = if with_text {
        [b"EVAL", script.text.as_bytes(), count.as_bytes()]
    } else {
        [b"EVALSHA", script.sha.as_bytes(), count.as_bytes()]
    };
    let words = head.into_iter().chain(keys.iter().copied());
    let words = words.chain([operation.token().as_bytes()]);
    pack(words.chain(arguments.iter().map(Word::as_bytes)))
}

/// An argument of a script.
enum Word<'a> {
    Text(&'a [u8]),
    Number(Digits),
}

impl Word<'_> {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text,
            Self::Number(digits) => digits.as_bytes(),
        }
    }
}

/// The meaning of an answer to the acquisition of a reader or a writer, from a node in `epoch`.
pub(super) fn acquired(operation: &Operation, epoch: u32, value: &Value<'_>) -> Answer {
    let is_fenced = operation.counters().is_some();
    match value {
        Value::Int(0) => Answer::Held(Holding::unknown(Remaining::NotALock)),
        Value::Int(count) => Answer::Granted {
            counter: is_fenced.then_some(count.unsigned_abs()),
            epoch,
            permits: None,
        },
        Value::Bulk([b'=', holder @ ..]) => Answer::Held(Holding::by(holder)),
        Value::Bulk([b'i', writer @ ..]) => {
            Answer::Held(Holding::advice(Obstacle::WaitingWriter, Some(writer)))
        }
        Value::Bulk([b'r']) => Answer::Held(Holding::readers()),
        Value::Bulk([b't']) => Answer::Held(Holding::advice(Obstacle::ReadersTurn, None)),
        _ => nonsense(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::encoded;
    use super::*;
    use crate::IoThread;
    use crate::model::kind::Kind;
    use crate::model::token::{OwnerToken, TokenSource};
    use crate::node::sharing::SharingKeys;
    use crate::redis::protocol::wire::decode;

    fn fresh_token() -> OwnerToken {
        let io = IoThread::start().unwrap();
        TokenSource::new().fresh(&*io.environment().entropy)
    }

    fn words(operation: &Operation) -> Vec<String> {
        let encoding = Encoding {
            marker: Some(b"marker"[..].into()),
            readers_tried: false,
            release_each: false,
        };
        let bytes = encoded(operation, &encoding);
        let Ok(Some((Value::Array(words), _))) = decode(bytes) else {
            panic!("a command: {}", bytes.escape_ascii());
        };
        let word = |word: &Value<'_>| match word {
            Value::Bulk(word) => String::from_utf8(word.to_vec()).unwrap(),
            other => panic!("a word: {other:?}"),
        };
        words.iter().map(word).collect()
    }

    fn operation(token: &OwnerToken, kind: Kind, want: Want) -> Operation {
        let keys = Resource::from("r");
        let sharing = Sharing::new(Arc::new(SharingKeys::beside(&keys, b"")), kind);
        let sharing = sharing.intent(Some(token.clone()));
        let sharing = sharing.advice(Duration::from_millis(600)).last(true);
        Operation::new(keys, token.clone(), want).with_sharing(Some(sharing))
    }

    const BESIDE: [&str; 3] = [
        "redlock:readers:{r}",
        "redlock:intent:{r}",
        "redlock:turn:{r}",
    ];

    #[test]
    fn an_operation_names_the_keys_beside_the_lock() {
        let token = fresh_token();
        let text = std::str::from_utf8(token.as_bytes()).unwrap();
        let ttl = Duration::from_secs(30);
        for (kind, want, script, arguments) in [
            (
                Kind::Read,
                Want::Acquire { ttl, hint: 7 },
                &*ACQUIRE_READ,
                &["30000", "600", ""][..],
            ),
            (
                Kind::Write,
                Want::Acquire { ttl, hint: 7 },
                &ACQUIRE_WRITE,
                &["30000", "600", text],
            ),
            (Kind::Read, Want::Extend { ttl }, &EXTEND_READ, &["30000"]),
            (Kind::Read, Want::Restore { ttl }, &RESTORE_READ, &["30000"]),
            (
                Kind::Write,
                Want::Release { ttl },
                &RELEASE_SHARED,
                &[text, "50"],
            ),
        ] {
            let expected = [
                &["EVALSHA", &script.sha, "4", "r"][..],
                &BESIDE,
                &[text],
                arguments,
            ];
            assert_eq!(
                words(&operation(&token, kind, want)),
                expected.concat(),
                "{want:?}"
            );
        }
    }

    #[test]
    fn the_commands_of_readers_are_tried_unless_the_connection_may_run_them() {
        let token = fresh_token();
        let ttl = Duration::from_secs(30);
        let acquire = |kind| operation(&token, kind, Want::Acquire { ttl, hint: 7 });
        let mut encoding = Encoding {
            marker: None,
            readers_tried: false,
            release_each: false,
        };
        let fourth = |encoding: &Encoding, kind| {
            let operation = acquire(kind);
            let bytes = encoded(&operation, encoding).to_vec();
            let Ok(Some((Value::Array(words), _))) = decode(&bytes) else {
                panic!("a command");
            };
            match words[10] {
                Value::Bulk(word) => word.to_vec(),
                ref other => panic!("{other:?}"),
            }
        };
        assert_eq!(fourth(&encoding, Kind::Read), b"");
        encoding.readers_tried = true;
        assert_eq!(fourth(&encoding, Kind::Read), b"tried");
        assert_eq!(fourth(&encoding, Kind::Write), token.as_bytes());
    }

    #[test]
    fn a_release_without_advice_names_the_lock_and_the_readers_only() {
        let token = fresh_token();
        let text = std::str::from_utf8(token.as_bytes()).unwrap();
        let ttl = Duration::from_secs(30);
        let keys = Resource::from("r");
        let sharing = Sharing::new(Arc::new(SharingKeys::beside(&keys, b"")), Kind::Read);
        let release = Operation::new(keys, token.clone(), Want::Release { ttl });
        let release = release.with_sharing(Some(sharing));
        let sha = &*RELEASE_SHARED.sha;
        let expected = ["EVALSHA", sha, "2", "r", BESIDE[0], text, "", "0"];
        assert_eq!(words(&release), expected);
    }

    #[test]
    fn a_fenced_acquisition_has_the_counter_and_the_marker_too() {
        let token = fresh_token();
        let ttl = Duration::from_secs(30);
        let fenced = |want| {
            let operation = operation(&token, Kind::Read, want);
            words(&operation.with_counters(Some("c".into())))
        };
        let acquire = fenced(Want::Acquire { ttl, hint: 7 });
        let keys = ["6", "r", BESIDE[0], BESIDE[1], BESIDE[2], "c", "marker"];
        assert_eq!(acquire[2..9], keys);
        assert_eq!(acquire[13..], ["7", "1000000", "3600000"]);
        let confirm = fenced(Want::Confirm { counter: 9, ttl });
        assert_eq!(confirm[2], "5");
        assert_eq!(confirm[9..], ["9", "3600000"]);
    }

    #[test]
    fn a_refusal_says_what_is_in_the_way() {
        let token = fresh_token();
        let ttl = Duration::from_secs(30);
        let acquire = operation(&token, Kind::Read, Want::Acquire { ttl, hint: 7 });
        for (answer, obstacle) in [
            (&b"=someone"[..], Obstacle::Holder),
            (b"=redlock:readers", Obstacle::Readers),
            (b"iwho", Obstacle::WaitingWriter),
            (b"r", Obstacle::Readers),
            (b"t", Obstacle::ReadersTurn),
        ] {
            let Answer::Held(holding) = acquired(&acquire, 0, &Value::Bulk(answer)) else {
                panic!("{}", answer.escape_ascii());
            };
            assert_eq!(holding.obstacle(), obstacle);
        }
        for nonsense in [Value::Bulk(b""), Value::Bulk(b"x"), Value::Nil] {
            assert!(matches!(
                acquired(&acquire, 0, &nonsense),
                Answer::Failed(_)
            ));
        }
    }
}
