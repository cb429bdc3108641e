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

#[cfg(test)]
mod tests {
    use super::*;

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
