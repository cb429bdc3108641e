//! Bytes that were read from a connection and not processed yet.

use bytes::{Buf as _, BytesMut};

use crate::redis::protocol::read_buffer::make_room;

use super::{Cursor, DEEPEST, Digits, Malformed, Protocol, Stop, Value, decode};

/// The most bytes that are kept of a bulk string. Our values, owner tokens and markers, are shorter.
/// Another client's value under a lock's name may be as long as the server allows.
const MOST_KEPT: usize = 4096;

/// The received bytes in order. Of a bulk string that is longer than any of our values, only the
/// beginning is kept.
#[derive(Default)]
pub(in crate::redis) struct Received {
    bytes: BytesMut,
    /// The number of bytes still to come of a bulk string that was cut.
    to_skip: usize,
}

impl Received {
    /// The buffer to read into. Call [`arrived`](Self::arrived) with the number of bytes.
    pub(in crate::redis) fn room(&mut self) -> &mut BytesMut {
        make_room(&mut self.bytes);
        &mut self.bytes
    }

    /// Records that `count` bytes were read.
    pub(in crate::redis) fn arrived(&mut self, count: usize) {
        let skipped = self.to_skip.min(count);
        self.to_skip -= skipped;
        self.remove(self.bytes.len() - count, skipped);
    }

    /// The first reply and its length, if it is complete. A bulk string in it may have been cut.
    pub(in crate::redis) fn reply(&self) -> Result<Option<(Value<'_>, usize)>, Malformed> {
        decode(&self.bytes)
    }

    /// Removes the first reply, which has this length.
    pub(in crate::redis) fn advance(&mut self, length: usize) {
        self.bytes.advance(length);
    }

    /// Cuts an incomplete reply: the rest of a long bulk string is dropped, and its length field is set
    /// to the kept length.
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
        // With the same number of digits.
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

    /// The replies in `stream`, which arrives in pieces of `piece` bytes, and the largest number of
    /// bytes kept at a time.
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
