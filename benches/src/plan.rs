//! The plan of a run: the lengths of measurements, and the place of the results.

use std::path::PathBuf;
use std::time::Duration;

/// The thoroughness of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Shows that the benchmarks work; the figures mean nothing.
    Smoke,
    /// About four minutes.
    Short,
    /// For figures that are to be quoted.
    Full,
}

/// The parts of a run, and their lengths.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The thoroughness.
    pub mode: Mode,
    /// The number of turns of every contender.
    pub rounds: usize,
    /// The measured part of one turn without contention.
    pub run: Duration,
    /// The measured part of one turn on a hot key.
    pub hot: Duration,
    /// The measured part of one turn on a key that is held for a while.
    pub held: Duration,
    /// The measured part of one turn of four processes.
    pub shares: Duration,
    /// The time before each of them, which is not measured.
    pub warm_up: Duration,
    /// The time for which leases are watched that renew themselves.
    pub renewal: Duration,
    /// The connect timeout of our nodes for a server that accepts and stays silent.
    pub connect_timeout: Duration,
    /// The folder for generated programs and for results that are not kept.
    pub scratch: PathBuf,
    /// The folder of the results, if the command line names one.
    pub results: Option<PathBuf>,
    /// Only the groups whose name contains this.
    filter: Option<String>,
}

impl Plan {
    /// Returns the plan that the command line asks for.
    pub fn from_command_line() -> Self {
        Self::from_arguments(std::env::args().skip(1))
    }

    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Self {
        let [mut is_bench, mut is_test, mut is_short] = [false; 3];
        let (mut results, mut filter) = (None, None);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bench" => is_bench = true,
                "--test" => is_test = true,
                "--short" => is_short = true,
                "--results" => results = arguments.next().map(PathBuf::from),
                // Cargo passes other options to all binaries.
                option if option.starts_with('-') => {}
                _ => filter = Some(argument),
            }
        }
        let mode = match (is_bench && !is_test, is_short) {
            (false, _) => Mode::Smoke,
            (true, true) => Mode::Short,
            (true, false) => Mode::Full,
        };
        Self {
            results,
            filter,
            ..Self::for_mode(mode)
        }
    }

    fn for_mode(mode: Mode) -> Self {
        // A short run has as many rounds as a full one: the machine's moods last for seconds, and
        // many short turns meet each of them with every contender.
        let [run, hot, held, shares, warm_up, renewal, connect_timeout] = match mode {
            Mode::Smoke => [25, 25, 120, 120, 5, 50, 100],
            Mode::Short => [50, 120, 160, 4_000, 15, 11_000, 100],
            Mode::Full => [650, 1_200, 1_000, 8_000, 150, 60_000, 500],
        }
        .map(Duration::from_millis);
        Self {
            mode,
            rounds: if mode == Mode::Smoke { 1 } else { 10 },
            run,
            hot,
            held,
            shares,
            warm_up,
            renewal,
            connect_timeout,
            scratch: PathBuf::new(),
            results: None,
            filter: None,
        }
    }

    /// Returns this plan with at most `rounds` rounds.
    #[must_use]
    pub fn at_most(&self, rounds: usize) -> Self {
        Self {
            rounds: self.rounds.min(rounds),
            ..self.clone()
        }
    }

    /// True if `group` is to run. The tuning of `rslock` runs only if it is named.
    pub fn wants(&self, group: &str) -> bool {
        match &self.filter {
            Some(filter) => group.contains(filter.as_str()),
            None => group != "tuning",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(line: &str) -> Plan {
        Plan::from_arguments(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn only_cargo_bench_measures() {
        let modes =
            ["", "--test --bench", "--bench", "--short --bench"].map(|line| plan(line).mode);
        assert_eq!(modes, [Mode::Smoke, Mode::Smoke, Mode::Full, Mode::Short]);
    }

    #[test]
    fn a_filter_picks_groups_and_the_folder_is_none() {
        let plan = plan("frozen --results /tmp/r --bench");
        assert!(plan.wants("frozen") && !plan.wants("uncontended"));
        assert_eq!(plan.results.as_deref(), Some("/tmp/r".as_ref()));
    }
}
