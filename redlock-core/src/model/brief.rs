//! Durations in texts for people.

use std::fmt;
use std::time::Duration;

/// A duration for a person: `410 ms`, `12 s`, `1.5 s`.
pub struct Brief(pub Duration);

impl fmt::Display for Brief {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        match ms {
            0..1000 => write!(f, "{ms} ms"),
            1000..10_000 if ms % 1000 >= 100 => write!(f, "{}.{} s", ms / 1000, ms % 1000 / 100),
            _ => write!(f, "{} s", ms / 1000),
        }
    }
}

/// The same for a duration that a person has set: whole hours and minutes are `2 h`, `5 min`.
pub(crate) struct Whole(pub(crate) Duration);

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            0 => Brief(self.0).fmt(f),
            secs if secs.is_multiple_of(3600) => write!(f, "{} h", secs / 3600),
            secs if secs.is_multiple_of(60) => write!(f, "{} min", secs / 60),
            _ => Brief(self.0).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_has_set_is_shown_in_whole_units() {
        let shown = |secs| Whole(Duration::from_secs(secs)).to_string();
        assert_eq!(
            [0, 60, 90, 7200].map(shown),
            ["0 ms", "1 min", "90 s", "2 h"]
        );
    }

    #[test]
    fn durations_are_brief() {
        for (ms, shown) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1500, "1.5 s"),
            (2000, "2 s"),
            (61_999, "61 s"),
        ] {
            assert_eq!(Brief(Duration::from_millis(ms)).to_string(), shown);
        }
    }
}
