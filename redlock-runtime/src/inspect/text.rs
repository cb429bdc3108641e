//! Figures for people.

use std::fmt;
use std::time::{Duration, SystemTime};

pub(super) use redlock_core::error::Brief;
use redlock_core::request::Renewal;

use crate::parameters::{SiteParameters, Wait};

/// `0.21 ms`
pub(super) struct Millis(pub(super) Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_secs_f64() * 1000.0;
        let digits = if ms < 10.0 { 2 } else { 0 };
        write!(f, "{ms:.digits$} ms")
    }
}

/// By how much a clock is ahead: `+0.21 ms`, `−1 h 2 min`
pub(super) struct Offset(pub(super) i64);

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A smaller offset is shown as 0.00 ms, and zero has no minus.
        let sign = if self.0 <= -5 { '−' } else { '+' };
        let off = Duration::from_micros(self.0.unsigned_abs());
        if off < Duration::from_secs(1) {
            write!(f, "{sign}{}", Millis(off))
        } else {
            write!(f, "{sign}{}", Brief(off))
        }
    }
}

/// `2026-11-21T17:20:00.123Z`
pub(super) fn utc(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}

/// `2026-11-21 17:20:00 UTC`
pub(super) fn when(at: SystemTime) -> String {
    let text = humantime::format_rfc3339_seconds(at).to_string();
    text.replace('T', " ").replace('Z', " UTC")
}

/// How long a site keeps trying.
pub(super) fn tries(parameters: &SiteParameters) -> String {
    let tries = match (parameters.wait, parameters.retry_count) {
        (Some(Wait::For(budget)), _) => format!("for {}", Brief(budget)),
        (Some(Wait::Forever), _) => "forever".to_owned(),
        (None, Some(0) | None) => "once".to_owned(),
        (None, Some(1)) => "twice".to_owned(),
        (None, Some(count)) => format!("{} times", u64::from(count) + 1),
    };
    if parameters.skips {
        format!("{tries}, else skipped")
    } else {
        tries
    }
}

/// How long a site's lock lives, and is renewed.
pub(super) fn lives(parameters: &SiteParameters) -> String {
    let ttl = Brief(parameters.ttl);
    match parameters.max_hold {
        Renewal::For(held) => format!("{ttl}, renewed up to {}", Brief(held)),
        Renewal::Unlimited => format!("{ttl}, renewed"),
        _ => ttl.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_long_as_a_person_wants_them() {
        let ms = Duration::from_millis;
        assert_eq!(Millis(Duration::from_micros(213)).to_string(), "0.21 ms");
        assert_eq!(Millis(ms(1234)).to_string(), "1234 ms");
        for (us, shown) in [
            (0, "+0.00 ms"),
            (-4, "+0.00 ms"),
            (-2130, "−2.13 ms"),
            (60_000_000, "+1 min"),
        ] {
            assert_eq!(Offset(us).to_string(), shown);
        }
        assert!(Offset(i64::MIN).to_string().starts_with('−'));
    }
}
