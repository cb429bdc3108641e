//! Short texts for durations and for the system's errors.

use std::fmt;
use std::io;
use std::time::Duration;

/// Returns the system's words for an error, such as `connection refused`. The error's number is cut off.
pub(crate) fn system_words(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    words.to_ascii_lowercase()
}

/// A duration as people write it: `410 ms`, `1.5 s`, `54 min`, `2 h 30 min`.
///
/// The text is exact to a millisecond below a second, to a tenth of a second below 10 s, and otherwise to a second. The
/// rest is cut off.
pub struct Brief(pub Duration);

/// The units that texts of 10 s and more combine, each with its length in seconds.
const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];

impl fmt::Display for Brief {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, secs) = (self.0.as_millis(), self.0.as_secs());
        match ms {
            0..1000 => return write!(f, "{ms} ms"),
            1000..10_000 if ms % 1000 >= 100 => {
                return write!(f, "{secs}.{} s", ms % 1000 / 100);
            }
            _ => {}
        }
        let (mut left, mut is_first) = (secs, true);
        for (unit, name) in UNITS {
            let count = left / unit;
            if count == 0 {
                continue;
            }
            let space = if is_first { "" } else { " " };
            write!(f, "{space}{count} {name}")?;
            (left, is_first) = (left % unit, false);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_system_keeps_its_words() {
        for (number, words) in [
            (2, "no such file or directory"),
            (24, "too many open files"),
        ] {
            let error = io::Error::from_raw_os_error(number);
            assert_eq!(system_words(&error), words);
        }
    }

    #[test]
    fn durations_are_brief() {
        for (ms, shown) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1500, "1.5 s"),
            (2000, "2 s"),
            (59_999, "59 s"),
            (61_999, "1 min 1 s"),
            (300_000, "5 min"),
            (301_000, "5 min 1 s"),
            (3_240_000, "54 min"),
            (3_600_000, "1 h"),
            (3_601_000, "1 h 1 s"),
            (9_000_000, "2 h 30 min"),
            (90_061_000, "1 d 1 h 1 min 1 s"),
            (259_200_000, "3 d"),
        ] {
            assert_eq!(Brief(Duration::from_millis(ms)).to_string(), shown);
        }
    }
}
