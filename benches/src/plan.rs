//! How long to measure.

use std::time::Duration;

/// How thorough a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Shows that the benchmarks work; the figures mean nothing.
    Smoke,
    /// Under two minutes.
    Short,
    /// For figures that are to be quoted.
    Full,
}

/// What a run does, and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How thorough it is.
    pub mode: Mode,
    /// How often every contender gets its turn.
    pub rounds: usize,
    /// The measured part of one turn.
    pub run: Duration,
    /// What precedes it unmeasured.
    pub warm_up: Duration,
    /// How long our nodes try to connect to a server that accepts and says nothing.
    pub connect_timeout: Duration,
    /// Only the groups whose name contains this.
    filter: Option<String>,
}

impl Plan {
    /// The plan that the command line and `REDLOCK_BENCH` ask for.
    pub fn from_command_line() -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let is_short = std::env::var("REDLOCK_BENCH").is_ok_and(|value| value == "short");
        Self::from_arguments(&arguments, is_short)
    }

    fn from_arguments(arguments: &[String], is_short: bool) -> Self {
        let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
        let mode = if has("--test") || !has("--bench") {
            Mode::Smoke
        } else if is_short || has("--short") {
            Mode::Short
        } else {
            Mode::Full
        };
        let filter = arguments.iter().find(|text| !text.starts_with('-'));
        Self {
            filter: filter.cloned(),
            ..Self::for_mode(mode)
        }
    }

    /// The plan of a mode, with all groups.
    pub fn for_mode(mode: Mode) -> Self {
        let (rounds, run, warm_up, connect_timeout) = match mode {
            Mode::Smoke => (1, 25, 5, 100),
            Mode::Short => (5, 500, 100, 500),
            Mode::Full => (9, 1_000, 200, 1_000),
        };
        Self {
            mode,
            rounds,
            run: Duration::from_millis(run),
            warm_up: Duration::from_millis(warm_up),
            connect_timeout: Duration::from_millis(connect_timeout),
            filter: None,
        }
    }

    /// Whether the group called `name` is to run.
    pub fn wants(&self, name: &str) -> bool {
        self.filter
            .as_deref()
            .is_none_or(|filter| name.contains(filter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(line: &str, is_short: bool) -> Plan {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Plan::from_arguments(&arguments, is_short)
    }

    #[test]
    fn only_cargo_bench_measures() {
        assert_eq!(plan("", true).mode, Mode::Smoke);
        assert_eq!(plan("--test --bench", false).mode, Mode::Smoke);
        assert_eq!(plan("--bench", false).mode, Mode::Full);
        assert_eq!(plan("--short --bench", false).mode, Mode::Short);
        assert_eq!(plan("--bench", true).mode, Mode::Short);
    }

    #[test]
    fn a_filter_picks_groups() {
        let plan = plan("frozen --bench", false);
        assert!(plan.wants("frozen") && !plan.wants("uncontended"));
        assert!(Plan::for_mode(Mode::Full).wants("frozen"));
    }
}
