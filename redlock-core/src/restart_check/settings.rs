//! What the processes of a set say of their settings, in the marker's second version.
//!
//! Each process writes its settings if no process that is at least as strict has done so, and repeats
//! them at intervals. The strictest settings count for all processes, until no process has repeated
//! them for as long as a lock of that process could live.

use std::fmt::Write as _;
use std::time::Duration;

use crate::model::brief::Brief;

/// The interval at which a process repeats its settings.
const SAYS_EVERY: Duration = Duration::from_secs(30);

/// The time for which a setting counts after the locks of its process are over. It covers the interval
/// at which processes repeat their settings.
const MARGIN: Duration = Duration::from_secs(60);

/// No lock lives for longer. A marker with a longer time is garbage.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The strictest settings, each with when it was said last, in ms of the node's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StrictestSettings {
    /// The longest `max_ttl`, in ms.
    max_ttl: Option<(u64, u64)>,
    /// A set without markers waits.
    strict: Option<u64>,
    /// A node that restarted with its marker waits.
    careful: Option<u64>,
}

impl StrictestSettings {
    /// The settings of one process, stated at `time` of the node's clock.
    pub(super) fn of(max_ttl: Duration, is_strict: bool, is_careful: bool, time: Duration) -> Self {
        let now = millis(time);
        Self {
            max_ttl: Some((millis(max_ttl), now)),
            strict: is_strict.then_some(now),
            careful: is_careful.then_some(now),
        }
    }

    pub(super) fn max_ttl(self) -> Duration {
        Duration::from_millis(self.max_ttl.map_or(0, |(ms, _)| ms))
    }

    pub(super) fn is_strict(self) -> bool {
        self.strict.is_some()
    }

    pub(super) fn is_careful(self) -> bool {
        self.careful.is_some()
    }

    /// The settings that still count at `time`, for a process whose own locks live for `max_ttl`.
    pub(super) fn still(mut self, max_ttl: Duration, time: Duration) -> Self {
        self.max_ttl = self.max_ttl.filter(|(ms, _)| *ms <= millis(LONGEST));
        let lasts = millis(self.max_ttl().max(max_ttl).saturating_add(MARGIN));
        // This includes times that a clock which was set back has still to reach.
        let counts = |said: &u64| said.abs_diff(millis(time)) <= lasts;
        Self {
            max_ttl: self.max_ttl.filter(|(_, said)| counts(said)),
            strict: self.strict.filter(counts),
            careful: self.careful.filter(counts),
        }
    }

    /// The stricter of both, with `own` said last.
    pub(super) fn with(self, own: Self) -> Self {
        Self {
            max_ttl: self.max_ttl.max(own.max_ttl),
            strict: own.strict.or(self.strict),
            careful: own.careful.or(self.careful),
        }
    }

    /// True if `own` is to be written now.
    pub(super) fn wants(self, own: Self) -> bool {
        let is_due = |said: Option<u64>, own: Option<u64>| match (said, own) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(said), Some(now)) => said.abs_diff(now) > millis(SAYS_EVERY),
        };
        let is_longer = self.max_ttl() > own.max_ttl();
        let said = |it: Self| it.max_ttl.map(|(_, said)| said);
        let is_shorter = self.max_ttl() < own.max_ttl();
        is_shorter
            || !is_longer && is_due(said(self), said(own))
            || is_due(self.strict, own.strict)
            || is_due(self.careful, own.careful)
    }

    /// Names the settings of `own` that are less strict than these, and the ones that apply instead.
    pub(super) fn disagrees(self, own: Self) -> Option<String> {
        let mut texts = Vec::new();
        if self.max_ttl() > own.max_ttl() {
            texts.push(format!(
                "another process has a `max_ttl` of {}, this one has {}",
                Brief(self.max_ttl()),
                Brief(own.max_ttl()),
            ));
        }
        if self.is_strict() && !own.is_strict() {
            texts.push("another process has `restart_check = \"strict\"`".to_owned());
        }
        if self.is_careful() && !own.is_careful() {
            texts.push("another process does not have `trust_aof`, this one has".to_owned());
        }
        let advice = "the strictest applies to all; give all processes the same";
        (!texts.is_empty()).then(|| format!("{}; {advice}", texts.join(", ")))
    }

    /// The settings as words of the marker's second version.
    pub(super) fn words(self) -> String {
        let mut words = String::new();
        if let Some((ms, said)) = self.max_ttl {
            // Writing to a string does not fail.
            let _ = write!(words, " ttl:{ms}:{said}");
        }
        for (name, said) in [("strict", self.strict), ("careful", self.careful)] {
            if let Some(said) = said {
                let _ = write!(words, " {name}:{said}");
            }
        }
        words
    }

    /// Takes in one such word. Words of later libraries mean nothing here.
    pub(super) fn read(&mut self, word: &str) {
        let mut parts = word.split(':');
        let name = parts.next();
        let mut number = || parts.next()?.parse::<u64>().ok();
        match name {
            Some("ttl") => self.max_ttl = number().zip(number()),
            Some("strict") => self.strict = number(),
            Some("careful") => self.careful = number(),
            _ => {}
        }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn the_strictest_of_all_counts_for_as_long_as_somebody_says_it() {
        let loose = |at| StrictestSettings::of(secs(10), false, false, secs(at));
        let strict = |at| StrictestSettings::of(secs(300), true, true, secs(at));
        for both in [
            loose(1_000).with(strict(1_000)),
            strict(1_000).with(loose(1_000)),
        ] {
            assert_eq!(both, strict(1_000));
            assert!(!both.wants(loose(2_000)), "it has nothing to add");
            assert!(!both.wants(strict(1_030)) && both.wants(strict(1_031)));
            let still = |at| both.still(secs(10), secs(at));
            assert_eq!(still(1_360), both);
            assert_eq!(still(1_361), StrictestSettings::default());
            assert_eq!(still(640), both, "a clock that was set back");
        }
        assert!(loose(1_000).wants(strict(1_000)));
        assert!(StrictestSettings::default().wants(loose(1_000)));
    }

    #[test]
    fn who_is_less_strict_is_told_of_what_and_nobody_else() {
        let loose = StrictestSettings::of(secs(10), false, false, secs(1));
        let strict = StrictestSettings::of(secs(300), true, true, secs(1));
        let text = strict.disagrees(loose).unwrap();
        for part in [
            "`max_ttl` of 5 min, this one has 10 s",
            "\"strict\"",
            "`trust_aof`",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(strict.disagrees(strict), None);
        assert_eq!(loose.disagrees(strict), None);
        let longer = StrictestSettings::of(secs(300), false, false, secs(1));
        let text = longer.disagrees(loose).unwrap();
        assert!(
            !text.contains("strict\"") && !text.contains("trust_aof"),
            "{text}"
        );
    }

    #[test]
    fn what_was_said_is_read_as_it_was_written_and_the_rest_is_passed_over() {
        for settings in [
            StrictestSettings::default(),
            StrictestSettings::of(secs(10), false, true, secs(1)),
            StrictestSettings::of(secs(10), true, false, secs(1)),
        ] {
            let mut read = StrictestSettings::default();
            let words = settings.words() + " later:3:4 strictly:5 ttl";
            for word in words.split(' ').take_while(|word| *word != "ttl") {
                read.read(word);
            }
            assert_eq!(read, settings);
        }
        let wild = StrictestSettings::of(Duration::MAX, true, false, secs(1));
        assert_eq!(wild.still(secs(1), secs(1)).max_ttl(), Duration::ZERO);
    }
}
