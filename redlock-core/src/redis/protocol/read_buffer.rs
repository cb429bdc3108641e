//! Room in a buffer for the bytes that a connection delivers.

use bytes::BytesMut;

/// The most bytes of one read.
const READ_AT_ONCE: usize = 16 * 1024;

/// Makes room for the next read. It allocates and moves nothing if half of the room is left, or if
/// the bytes that were read before have been consumed.
pub(in crate::redis) fn make_room(input: &mut BytesMut) {
    let left = input.capacity() - input.len();
    if left < READ_AT_ONCE / 2 {
        let wanted = READ_AT_ONCE.saturating_sub(input.len());
        input.reserve(wanted.max(READ_AT_ONCE / 2));
    }
}
