//! RESP2, commands and replies, and the part of RESP3 for a connection on which the server pushes
//! messages.
//!
//! The crate `redis` has a decoder, but the one for a growing buffer is not public, and the public one
//! copies each reply several times. This is the hot path of every lock, and the format has not changed
//! since 2010.

mod received;

use bytes::BufMut;

pub(in crate::redis) use crate::model::digits::Digits;
pub(in crate::redis) use received::Received;

/// One command as the server reads it.
pub(in crate::redis) fn pack<'a>(words: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<u8> {
    let mut packed = Vec::new();
    pack_into(words, &mut packed);
    packed
}

/// Appends one command.
pub(in crate::redis) fn pack_into<'a>(
    words: impl Iterator<Item = &'a [u8]> + Clone,
    output: &mut impl BufMut,
) {
    pack_behind(&[], words, output);
}

/// Appends one command, which begins with `head`.
pub(in crate::redis) fn pack_behind<'a>(
    head: &[&[u8]],
    words: impl Iterator<Item = &'a [u8]> + Clone,
    output: &mut impl BufMut,
) {
    output.put_u8(b'*');
    put_number(head.len() + words.clone().count(), output);
    for word in head {
        put_word(word, output);
    }
    for word in words {
        put_word(word, output);
    }
}

fn put_word(word: &[u8], output: &mut impl BufMut) {
    output.put_u8(b'$');
    put_number(word.len(), output);
    output.put_slice(word);
    output.put_slice(b"\r\n");
}

fn put_number(number: usize, output: &mut impl BufMut) {
    output.put_slice(Digits::of(number as u64).as_bytes());
    output.put_slice(b"\r\n");
}

/// A reply, borrowed from the buffer that it arrived in.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::redis) enum Value<'a> {
    /// `+OK`
    Simple(&'a [u8]),
    /// `-ERR …`
    Error(&'a [u8]),
    /// `:1`
    Int(i64),
    /// `$-1` and `*-1`
    Nil,
    /// `$3 foo`
    Bulk(&'a [u8]),
    /// `*2 …`, and in RESP3 `%1 …` as a flat list of names and values, as in RESP2.
    Array(Vec<Self>),
    /// RESP3's `>2 …`: a message of the server that answers no command.
    Push(Vec<Self>),
}

/// The bytes violate the protocol: the connection cannot be used any longer.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::redis) struct Malformed;

/// Redis's own limit of a string.
const LONGEST_BULK: usize = 512 << 20;
/// Far beyond all replies to our commands.
const DEEPEST: usize = 4;
const MOST_ELEMENTS: usize = 4096;
/// A Redis Cluster may list as many ranges of slots as it has slots.
const LONGEST_ARRAY: usize = 16_384;

/// Far beyond a number or an error's text. A longer line is malformed.
const LONGEST_LINE: usize = 64 << 10;

/// The first reply in `bytes` and its length; `None` while it is incomplete.
pub(in crate::redis) fn decode(bytes: &[u8]) -> Result<Option<(Value<'_>, usize)>, Malformed> {
    decode_as(Protocol::Resp2, bytes)
}

/// The same on a connection that began with `HELLO 3`.
pub(in crate::redis) fn decode_resp3(
    bytes: &[u8],
) -> Result<Option<(Value<'_>, usize)>, Malformed> {
    decode_as(Protocol::Resp3, bytes)
}

/// The two are distinguished because a push that is taken for an answer would shift all later answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Resp2,
    Resp3,
}

fn decode_as(protocol: Protocol, bytes: &[u8]) -> Result<Option<(Value<'_>, usize)>, Malformed> {
    let mut cursor = Cursor::new(protocol, bytes);
    match cursor.value(DEEPEST) {
        Ok(value) => Ok(Some((value, cursor.at))),
        Err(Stop::Incomplete) => Ok(None),
        Err(Stop::Malformed) => Err(Malformed),
    }
}

enum Stop {
    Incomplete,
    Malformed,
}

struct Cursor<'a> {
    protocol: Protocol,
    bytes: &'a [u8],
    at: usize,
    /// The length of the bulk string that begins at `at`, if it is incomplete.
    unfinished: Option<usize>,
}

impl<'a> Cursor<'a> {
    fn new(protocol: Protocol, bytes: &'a [u8]) -> Self {
        Self {
            protocol,
            bytes,
            at: 0,
            unfinished: None,
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, Stop> {
        let line = self.line()?;
        let (kind, rest) = line.split_first().ok_or(Stop::Malformed)?;
        Ok(match kind {
            b'+' => Value::Simple(rest),
            b'-' => Value::Error(rest),
            b':' => Value::Int(number(rest)?),
            b'$' => match length(rest, LONGEST_BULK)? {
                None => Value::Nil,
                Some(length) => Value::Bulk(self.bulk(length)?),
            },
            b'*' => match length(rest, LONGEST_ARRAY)? {
                None => Value::Nil,
                Some(length) => Value::Array(self.elements(length, depth)?),
            },
            _ if self.protocol == Protocol::Resp2 => return Err(Stop::Malformed),
            b'_' => Value::Nil,
            b'%' => match length(rest, MOST_ELEMENTS / 2)? {
                None => return Err(Stop::Malformed),
                Some(pairs) => Value::Array(self.elements(pairs * 2, depth)?),
            },
            // Never inside of another value.
            b'>' if depth == DEEPEST => match length(rest, MOST_ELEMENTS)? {
                None => return Err(Stop::Malformed),
                Some(length) => Value::Push(self.elements(length, depth)?),
            },
            _ => return Err(Stop::Malformed),
        })
    }

    fn elements(&mut self, length: usize, depth: usize) -> Result<Vec<Value<'a>>, Stop> {
        let depth = depth.checked_sub(1).ok_or(Stop::Malformed)?;
        (0..length).map(|_| self.value(depth)).collect()
    }

    fn line(&mut self) -> Result<&'a [u8], Stop> {
        let rest = &self.bytes[self.at..];
        let within = &rest[..rest.len().min(LONGEST_LINE)];
        let end = match within.iter().position(|byte| *byte == b'\r') {
            Some(end) => end,
            None if within.len() < rest.len() => return Err(Stop::Malformed),
            None => return Err(Stop::Incomplete),
        };
        match rest.get(end + 1) {
            None => Err(Stop::Incomplete),
            Some(b'\n') => {
                self.at += end + 2;
                Ok(&rest[..end])
            }
            Some(_) => Err(Stop::Malformed),
        }
    }

    fn bulk(&mut self, length: usize) -> Result<&'a [u8], Stop> {
        let rest = &self.bytes[self.at..];
        let Some(whole) = rest.get(..length + 2) else {
            self.unfinished = Some(length);
            return Err(Stop::Incomplete);
        };
        let (bulk, end) = whole.split_at(length);
        if end != b"\r\n" {
            return Err(Stop::Malformed);
        }
        self.at += length + 2;
        Ok(bulk)
    }
}

fn number(digits: &[u8]) -> Result<i64, Stop> {
    std::str::from_utf8(digits)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Stop::Malformed)
}

fn length(digits: &[u8], most: usize) -> Result<Option<usize>, Stop> {
    match number(digits)? {
        -1 => Ok(None),
        n => usize::try_from(n)
            .ok()
            .filter(|n| *n <= most)
            .map(Some)
            .ok_or(Stop::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn digits_are_decimal() {
        for number in [0, 7, 10, 60_000, 1_234_567_890, u64::MAX] {
            assert_eq!(Digits::of(number).as_bytes(), number.to_string().as_bytes());
        }
    }

    #[test]
    fn a_command_is_packed_as_redis_packs_it() {
        let words = [b"SET".as_slice(), b"k\r\n\xff", b"", b"PX", b"60000"];
        let mut command = ::redis::cmd("SET");
        command.arg(b"k\r\n\xff").arg("").arg("PX").arg(60_000);
        assert_eq!(pack(words.into_iter()), command.get_packed_command());
    }

    #[test]
    fn each_kind_of_reply() {
        let cases: [(&[u8], Value<'_>); 8] = [
            (b"+OK\r\n", Value::Simple(b"OK")),
            (b"-ERR no\r\n", Value::Error(b"ERR no")),
            (b":-2\r\n", Value::Int(-2)),
            (b"$-1\r\n", Value::Nil),
            (b"*-1\r\n", Value::Nil),
            (b"$5\r\na\r\nbc\r\n", Value::Bulk(b"a\r\nbc")),
            (b"*0\r\n", Value::Array(vec![])),
            (
                b"*2\r\n:1\r\n$0\r\n\r\n",
                Value::Array(vec![Value::Int(1), Value::Bulk(b"")]),
            ),
        ];
        for (bytes, value) in cases {
            assert_eq!(decode(bytes), Ok(Some((value, bytes.len()))));
            for end in 0..bytes.len() {
                assert_eq!(
                    decode(&bytes[..end]),
                    Ok(None),
                    "{}",
                    bytes[..end].escape_ascii()
                );
            }
        }
    }

    #[test]
    fn what_a_server_says_unasked() {
        let keys = |keys| Value::Push(vec![Value::Bulk(b"invalidate"), keys]);
        let cases: [(&[u8], Value<'_>); 5] = [
            (
                b">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\na\r\n\r\n",
                keys(Value::Array(vec![Value::Bulk(b"a\r\n")])),
            ),
            (b">2\r\n$10\r\ninvalidate\r\n_\r\n", keys(Value::Nil)),
            (b">0\r\n", Value::Push(vec![])),
            (
                b"%2\r\n$5\r\nproto\r\n:3\r\n$7\r\nmodules\r\n*1\r\n%1\r\n+a\r\n*1\r\n+b\r\n",
                Value::Array(vec![
                    Value::Bulk(b"proto"),
                    Value::Int(3),
                    Value::Bulk(b"modules"),
                    Value::Array(vec![Value::Array(vec![
                        Value::Simple(b"a"),
                        Value::Array(vec![Value::Simple(b"b")]),
                    ])]),
                ]),
            ),
            (b":-2\r\n", Value::Int(-2)),
        ];
        for (bytes, value) in cases {
            assert_eq!(decode_resp3(bytes), Ok(Some((value, bytes.len()))));
            for end in 0..bytes.len() {
                let part = &bytes[..end];
                assert_eq!(decode_resp3(part), Ok(None), "{}", part.escape_ascii());
            }
            if bytes[0] != b':' {
                assert_eq!(decode(bytes), Err(Malformed), "nobody asked for it");
            }
        }
    }

    #[test]
    fn pushes_are_bounded_and_stand_by_themselves() {
        for bytes in [
            &b">-1\r\n"[..],
            b"%-1\r\n",
            b">5000\r\n",
            b"%2049\r\n",
            b"*1\r\n>1\r\n:1\r\n",
            b">1\r\n>1\r\n:1\r\n",
            b">1\r\n*1\r\n%1\r\n:1\r\n*1\r\n*1\r\n:1\r\n",
            b"!3\r\nERR\r\n",
        ] {
            assert_eq!(
                decode_resp3(bytes),
                Err(Malformed),
                "{}",
                bytes.escape_ascii()
            );
        }
    }

    #[test]
    fn what_is_no_reply_is_malformed() {
        for bytes in [
            &b"?\r\n"[..],
            b"\r\n",
            b":x\r\n",
            b":\r\n",
            b"$-2\r\n",
            b"$1\r\nabc",
            b"+O\rK\r\n",
            b"$99999999999999\r\n",
            b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
        ] {
            assert_eq!(decode(bytes), Err(Malformed), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_line_that_does_not_end_is_malformed() {
        let mut bytes = vec![b'+'; LONGEST_LINE];
        assert_eq!(decode(&bytes), Ok(None));
        bytes.push(b'+');
        assert_eq!(decode(&bytes), Err(Malformed));
        assert_eq!(decode(&[b"*2\r\n", &bytes[..]].concat()), Err(Malformed));
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic_and_never_overrun(bytes: Vec<u8>, head in "[-+:$*>%_][0-9-]{0,3}\r\n") {
            for bytes in [bytes.clone(), [head.into_bytes(), bytes].concat()] {
                for decoded in [decode(&bytes), decode_resp3(&bytes)] {
                    if let Ok(Some((_, taken))) = decoded {
                        prop_assert!(taken <= bytes.len());
                    }
                }
            }
        }
    }
}
