//! Owner tokens for tests of calls, and a test of all kinds together.

use std::time::Duration;

use super::Kind;
use crate::env::Entropy;
use crate::model::token::OwnerToken;

pub(crate) const TTL: Duration = Duration::from_secs(30);

/// Returns the usual token of a test, `host/1/0011…ff`.
pub(crate) fn token() -> OwnerToken {
    drawn(0x11)
}

/// Returns another token, `host/1/0022…`.
pub(crate) fn other() -> OwnerToken {
    drawn(0x22)
}

fn drawn(step: u8) -> OwnerToken {
    struct Steps(u8);
    impl Entropy for Steps {
        fn fill(&self, bytes: &mut [u8]) {
            for (place, byte) in (0_u8..).zip(bytes) {
                *byte = place.wrapping_mul(self.0);
            }
        }
    }
    OwnerToken::draw("host/1", &Steps(step))
}

#[test]
fn a_holder_alone_covers_all_but_permits_and_any_other_its_like() {
    let (read, write, plain) = (Kind::Read, Kind::Write, Kind::Plain);
    let [one, eight, nine] = [1, 8, 9].map(Kind::Permits);
    for (holder, covered) in [
        (plain, &[plain, one, read, write][..]),
        (one, &[plain, one, read, write]),
        (write, &[plain, one, read, write]),
        (read, &[read]),
        (eight, &[eight]),
    ] {
        for wanted in [read, write, plain, one, eight, nine] {
            assert_eq!(holder.covers(wanted), covered.contains(&wanted), "{wanted}");
        }
    }
}
