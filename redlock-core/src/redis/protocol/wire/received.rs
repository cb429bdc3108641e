//! What was read from a connection and not answered yet.

use bytes::{Buf as _, BytesMut};

use crate::redis::protocol::read_buffer::make_room;

use super::{Cursor, DEEPEST, Digits, Malformed, Protocol, Stop, Value, decode};

/// So much is kept of a bulk string. Nobody needs more: the values are owner tokens and markers. What
/// somebody else put under a lock's name may be as long as the server allows.
const MOST_KEPT: usize = 4096;

/// Bytes in the order in which they came, without the rest of a bulk string that is longer than
/// anybody needs.
#[derive(Default)]
pub(in crate::redis) struct Received {
    bytes: BytesMut,
    /// How much of a bulk string that was cut is still to come.
    to_skip: usize,
}

impl Received {
    /// Where to read to. [`arrived`](Self::arrived) is told how much was read.
    pub(in crate::redis) fn room(&mut self) -> &mut BytesMut {
        make_room(&mut self.bytes);
        &mut self.bytes
    }

    /// So many bytes were read.
    pub(in crate::redis) fn arrived(&mut self, count: usize) {
        let skipped = self.to_skip.min(count);
        self.to_skip -= skipped;
        self.remove(self.bytes.len() - count, skipped);
    }

    /// The first reply and how long it is, if it is there. A bulk string in it may have been cut.
    pub(in crate::redis) fn reply(&self) -> Result<Option<(Value<'_>, usize)>, Malformed> {
        decode(&self.bytes)
    }

    /// Drops the first reply, which was so long.
    pub(in crate::redis) fn advance(&mut self, length: usize) {
        self.bytes.advance(length);
    }

    /// Cuts what is there of a reply that is not complete: the rest of a long bulk string is dropped,
    /// and its length becomes what is kept.
    pub(in crate::redis) fn cut(&mut self) {
        if self.bytes.len() <= MOST_KEPT {
            return;
        }
        let mut cursor = Cursor::new(Protocol::Resp2, &self.bytes);
        let (Err(Stop::Incomplete), Some(length)) = (cursor.value(DEEPEST), cursor.unfinished)
        else {
            return;
        };
        let begin = cursor.at;
        let is_here = (self.bytes.len() - begin).min(length);
        if is_here <= MOST_KEPT {
            return;
        }
        // In as many digits as before.
        let digits = self.bytes[..begin - 2].iter_mut().rev();
        let mut kept = Digits::of(MOST_KEPT as u64)
            .as_bytes()
            .to_vec()
            .into_iter()
            .rev();
        for digit in digits.take_while(|byte| **byte != b'$') {
            *digit = kept.next().unwrap_or(b'0');
        }
        self.to_skip = length - is_here;
        self.remove(begin + MOST_KEPT, is_here - MOST_KEPT);
    }

    fn remove(&mut self, from: usize, count: usize) {
        if count > 0 {
            self.bytes.copy_within(from + count.., from);
            self.bytes.truncate(self.bytes.len() - count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The replies in `stream`, which comes in pieces of `piece` bytes, and the most bytes that were
    /// kept at a time.
    fn replies(stream: &[u8], piece: usize) -> (Vec<String>, usize) {
        let (mut received, mut replies, mut most) = (Received::default(), Vec::new(), 0);
        for part in stream.chunks(piece) {
            received.room().extend_from_slice(part);
            received.arrived(part.len());
            while let Some((value, length)) = received.reply().unwrap() {
                replies.push(match value {
                    Value::Bulk(bulk) => format!("{} {}", bulk.len(), bulk.escape_ascii()),
                    other => format!("{other:?}"),
                });
                received.advance(length);
            }
            received.cut();
            most = most.max(received.bytes.len());
        }
        assert!(received.bytes.is_empty() && received.to_skip == 0);
        (replies, most)
    }

    fn bulk(text: &[u8]) -> Vec<u8> {
        let head = format!("${}\r\n", text.len()).into_bytes();
        [&head, text, b"\r\n"].concat()
    }

    #[test]
    fn of_a_long_bulk_string_the_beginning_is_kept_wherever_it_is_cut() {
        let long: Vec<u8> = (b'a'..=b'z').cycle().take(100_000).collect();
        let stream = [
            &b":1\r\n"[..],
            &bulk(&long),
            b"+OK\r\n",
            &bulk(&long[..MOST_KEPT]),
            &bulk(&long[..=MOST_KEPT]),
            &bulk(b"short"),
            b"*3\r\n:7\r\n",
            &bulk(&long),
            b":8\r\n:9\r\n",
        ]
        .concat();
        for piece in [1, 2, 3, 7, 128, 4099, 4100, 4101, 4102, 4103, 16_384] {
            let (replies, most) = replies(&stream, piece);
            assert!(
                most <= MOST_KEPT + 64 + piece,
                "{most} bytes in pieces of {piece}"
            );
            let kept = format!("{MOST_KEPT} {}", long[..MOST_KEPT].escape_ascii());
            assert_eq!(replies.len(), 8);
            assert_eq!(replies[0], "Int(1)");
            assert_eq!(replies[1], kept, "in pieces of {piece}");
            assert_eq!(replies[2], "Simple([79, 75])");
            assert_eq!(replies[3], kept);
            assert_eq!(replies[5], "5 short");
            assert!(replies[6].starts_with("Array([Int(7), Bulk("));
            assert!(replies[6].ends_with(", Int(8)])"));
            assert_eq!(replies[7], "Int(9)");
        }
    }

    #[test]
    fn what_is_no_reply_is_told_as_before() {
        let mut received = Received::default();
        received.room().extend_from_slice(b"$5000\r\n");
        received.room().extend_from_slice(&[b'x'; 5000]);
        received.arrived(5007);
        assert_eq!(received.reply(), Ok(None));
        received.cut();
        received.room().extend_from_slice(b"xx");
        received.arrived(2);
        assert_eq!(received.reply(), Err(Malformed));
    }
}
