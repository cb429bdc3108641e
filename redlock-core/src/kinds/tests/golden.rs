//! The calls of each room, and the words that a server receives, in `golden.txt` of the room. A changed word makes
//! versions of the library differ on the wire.

use std::time::Duration;

use crate::env::Entropy;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::Call;
use crate::quorum::kind::Kind;

pub(crate) const TTL: Duration = Duration::from_secs(30);

/// What the hint of the time says.
pub(crate) const HINT: u64 = 7;

/// A call with its name in `golden.txt`.
pub(crate) struct Golden {
    pub(crate) name: String,
    pub(crate) call: Call,
    pub(crate) has_marker: bool,
    pub(crate) is_tried: bool,
}

impl Golden {
    /// A call on a connection without a marker, whose user may not run all commands.
    pub(crate) fn new(name: impl Into<String>, call: Call) -> Self {
        Self {
            name: name.into(),
            call,
            has_marker: false,
            is_tried: false,
        }
    }

    pub(crate) fn marked(self, has_marker: bool) -> Self {
        Self { has_marker, ..self }
    }

    pub(crate) fn tried(self, is_tried: bool) -> Self {
        Self { is_tried, ..self }
    }
}

/// The calls of all rooms, each with its `golden.txt`.
pub(crate) fn rooms() -> impl Iterator<Item = (Vec<Golden>, &'static str)> {
    let rooms = super::ROOMS.iter().map(|room| room.golden);
    rooms.map(|(calls, known)| (calls(), known))
}

/// The token, `host/1/0011…ff`.
pub(crate) fn token() -> OwnerToken {
    struct Fixed;
    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            for (place, byte) in (0..).zip(bytes) {
                *byte = place * 0x11;
            }
        }
    }
    OwnerToken::draw("host/1", &Fixed)
}

/// Another token, `host/1/aa…`.
pub(crate) fn other() -> OwnerToken {
    struct Fixed;
    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0xaa);
        }
    }
    OwnerToken::draw("host/1", &Fixed)
}

/// Each list of names, with the keys that they are.
pub(crate) fn on_keys<const N: usize>(lists: [&str; N]) -> [(&str, Resource); N] {
    lists.map(|names| (names, Resource::all(names.split(' '))))
}

pub(crate) fn acquire(kind: &dyn Kind) -> Call {
    kind.acquire(&token(), TTL, HINT)
}
