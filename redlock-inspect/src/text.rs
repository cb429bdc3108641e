//! Figures, which are numbers in JSON and readable texts on the page.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};

/// A duration, as whole milliseconds in JSON.
///
/// The page shows `410ms` or `1m 20s`. Durations from a second on are cut to whole seconds.
pub(crate) struct Ms(pub(crate) Duration);

impl Serialize for Ms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u128(self.0.as_millis())
    }
}

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            0 => write!(f, "{}ms", self.0.as_millis()),
            secs => humantime::format_duration(Duration::from_secs(secs)).fmt(f),
        }
    }
}

/// A duration with a sign, as whole microseconds in JSON.
///
/// The page shows `0.21 ms` or `62.1 s`. With `{:+}`, positive durations have a sign too.
#[derive(Serialize)]
pub(crate) struct Us(pub(crate) i64);

impl Us {
    pub(crate) fn of(span: Duration) -> Self {
        Self(i64::try_from(span.as_micros()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Us {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            // A value nearer to zero is shown as 0.00, which has no minus.
            ..-4 => "−",
            _ if f.sign_plus() => "+",
            _ => "",
        })?;
        let seconds = Duration::from_micros(self.0.unsigned_abs()).as_secs_f64();
        match self.0.unsigned_abs() {
            0..10_000 => write!(f, "{:.2} ms", seconds * 1e3),
            10_000..1_000_000 => write!(f, "{:.0} ms", seconds * 1e3),
            _ => write!(f, "{seconds:.1} s"),
        }
    }
}

/// Formats a time as `2026-11-21T17:20:00Z`.
pub(crate) fn utc(at: SystemTime) -> String {
    humantime::format_rfc3339_seconds(at).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_long_as_a_person_wants_them() {
        for (ms, shown) in [(410, "410ms"), (1999, "1s"), (80_000, "1m 20s")] {
            assert_eq!(Ms(Duration::from_millis(ms)).to_string(), shown);
        }
        for (us, shown, signed) in [
            (213, "0.21 ms", "+0.21 ms"),
            (-4, "0.00 ms", "+0.00 ms"),
            (-2130, "−2.13 ms", "−2.13 ms"),
            (12_345, "12 ms", "+12 ms"),
            (62_120_000, "62.1 s", "+62.1 s"),
        ] {
            assert_eq!(
                (Us(us).to_string(), format!("{:+}", Us(us))),
                (shown.to_owned(), signed.to_owned())
            );
        }
        assert_eq!(Us(i64::MIN).to_string(), "−9223372036854.8 s");
    }
}
