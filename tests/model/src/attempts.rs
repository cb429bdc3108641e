//! Attempts by their numbers, as both models count them.

/// A, B, C, …
pub(crate) fn name(attempt: usize) -> char {
    ('A'..='Z').nth(attempt).unwrap_or('?')
}

/// How a key names its owner: the attempt's number + 1. There is 0 if there is no key.
pub(crate) fn key_of(attempt: usize) -> u8 {
    u8::try_from(attempt + 1).unwrap_or(u8::MAX)
}

/// Returns the attempt that `key` is of.
pub(crate) fn owner_of(key: u8) -> Option<usize> {
    usize::from(key).checked_sub(1)
}

/// The attempts for which `is_so` is true: a bit for each.
pub(crate) fn bits(attempts: usize, is_so: impl Fn(usize) -> bool) -> u8 {
    (0..attempts)
        .filter(|attempt| is_so(*attempt))
        .fold(0, |bits, attempt| bits | 1 << attempt)
}

/// True if the bit of `attempt` is set.
pub(crate) fn has(bits: u8, attempt: usize) -> bool {
    bits >> attempt & 1 == 1
}
