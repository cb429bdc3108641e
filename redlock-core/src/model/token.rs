//! Owner tokens: the random value that makes a key ours.

use std::fmt;
use std::sync::Arc;

use crate::env::{Entropy, process};

/// Random bytes in a token. The specification asks for a value that is unique across all clients and
/// all lock requests. 128 bits also make it unguessable, as a client that knows the token can release
/// the lock.
const RANDOM_BYTES: usize = 16;

/// The length of the longest token that names its owner: a host of 255 bytes, a process of ten digits.
pub(crate) const LONGEST: usize = 255 + 1 + 10 + 1 + 2 * RANDOM_BYTES;

/// The value of a lock's keys: `host/pid/` and 128 random bits in hex. Each attempt
/// draws a new one.
///
/// It is the right to release. `Debug` shows the [`short_id`](Self::short_id) only.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OwnerToken(Arc<[u8]>);

impl OwnerToken {
    /// A token of `owner`, `host/pid`, for operations that a test puts to nodes by itself.
    /// Needs the feature `testing`.
    #[cfg(any(test, feature = "testing"))]
    pub fn draw(owner: &str, entropy: &dyn Entropy) -> Self {
        let prefix = format!("{owner}/").into_bytes().into();
        TokenSource { prefix }.fresh(entropy)
    }

    /// The whole token, as the nodes store it. Keep it out of logs.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The first six hex digits of the random part: enough to tell two tokens apart in a log, and too
    /// few to guess the rest.
    pub fn short_id(&self) -> &str {
        let random = &self.0[self.0.len() - 2 * RANDOM_BYTES..];
        std::str::from_utf8(&random[..6]).unwrap_or_default()
    }
}

impl fmt::Debug for OwnerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnerToken({}…)", self.short_id())
    }
}

/// Makes tokens for one client.
#[derive(Clone)]
pub(crate) struct TokenSource {
    /// `host/pid/`, so that a refused caller can be told who holds the lock.
    prefix: Arc<[u8]>,
}

impl TokenSource {
    pub(crate) fn new() -> Self {
        Self {
            prefix: process::prefix().into_bytes().into(),
        }
    }

    /// `host/pid`.
    pub(crate) fn owner(&self) -> &str {
        let owner = self.prefix.strip_suffix(b"/").unwrap_or_default();
        std::str::from_utf8(owner).unwrap_or_default()
    }

    pub(crate) fn fresh(&self, entropy: &dyn Entropy) -> OwnerToken {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut random = [0; RANDOM_BYTES];
        entropy.fill(&mut random);
        let mut digits = [0; 2 * RANDOM_BYTES];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(random) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 0x0f)];
        }
        OwnerToken(self.prefix.iter().chain(&digits).copied().collect())
    }
}

/// The `host/pid` in a token, or `None` if another client's format names no owner.
pub(crate) fn owner_of(token: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(token).ok()?;
    let (owner, random) = text.rsplit_once('/')?;
    let (host, pid) = owner.rsplit_once('/')?;
    let is_ours = token.len() <= LONGEST
        && !host.is_empty()
        && host.len() <= 255
        && !host.chars().any(char::is_control)
        && pid.parse::<u32>().is_ok()
        && random.len() == 2 * RANDOM_BYTES
        && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_ours.then_some(owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::process::host_name;

    fn fresh() -> OwnerToken {
        let io = crate::IoThread::start().unwrap();
        TokenSource::new().fresh(&*io.environment().entropy)
    }

    #[test]
    fn a_token_names_its_owner_and_no_two_are_equal() {
        let (one, two) = (fresh(), fresh());
        assert_ne!(one, two);
        let owner = owner_of(one.as_bytes()).unwrap();
        assert_eq!(owner, format!("{}/{}", host_name(), std::process::id()));
    }

    #[test]
    fn debug_shows_no_more_than_the_short_id() {
        let token = fresh();
        let whole = std::str::from_utf8(token.as_bytes()).unwrap();
        let random = whole.rsplit('/').next().unwrap();
        let shown = format!("{token:?}");
        assert!(
            shown.contains(&random[..6]) && !shown.contains(&random[..7]),
            "{shown}"
        );
    }

    #[test]
    fn another_clients_value_names_nobody() {
        for foreign in [
            &b"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"[..],
            b"",
            b"a/b/c",
            b"host/12/short",
            b"host/pid/00112233445566778899aabbccddeeff",
            b"/12/00112233445566778899aabbccddeeff",
            b"\xff\xfe/12/00112233445566778899aabbccddeeff",
            b"ho\nst/12/00112233445566778899aabbccddeeff",
        ] {
            assert_eq!(owner_of(foreign), None, "{}", foreign.escape_ascii());
        }
    }
}
