//! The plan of a run: the lengths of measurements, and the place of the results.

use std::path::PathBuf;
use std::time::Duration;

use crate::group::Group;

/// How thorough a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Shows that the benchmarks work; the figures mean nothing.
    Smoke,
    /// About four minutes.
    Short,
    /// For figures that are to be quoted.
    Full,
}

impl Mode {
    /// As the results name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Short => "short",
            Self::Full => "full",
        }
    }
}

/// What a run does, and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How thorough it is.
    pub mode: Mode,
    /// How often every contender gets its turn.
    pub rounds: usize,
    /// The measured part of one turn without contention.
    pub run: Duration,
    /// The measured part of one turn on a hot key.
    pub hot: Duration,
    /// The measured part of one turn on a key that is held for a while.
    pub held: Duration,
    /// The measured part of one turn of four processes.
    pub shares: Duration,
    /// What precedes each of them unmeasured.
    pub warm_up: Duration,
    /// For how long leases are watched that renew themselves.
    pub renewal: Duration,
    /// How long our nodes try to connect to a server that accepts and says nothing.
    pub connect_timeout: Duration,
    /// Whether only the retry delays of `rslock` are to be compared.
    pub tunes: bool,
    /// Where the results go, if the command line says so.
    pub results: Option<PathBuf>,
    /// Only the groups whose name contains this.
    filter: Option<String>,
}

impl Plan {
    /// The plan that the command line and `REDLOCK_BENCH` ask for.
    pub fn from_command_line() -> Self {
        let is_short = std::env::var("REDLOCK_BENCH").is_ok_and(|value| value == "short");
        Self::from_arguments(std::env::args().skip(1), is_short)
    }

    fn from_arguments(arguments: impl Iterator<Item = String>, is_short: bool) -> Self {
        let mut arguments = arguments.peekable();
        let (mut is_bench, mut is_test, mut is_short) = (false, false, is_short);
        let (mut tunes, mut results, mut filter) = (false, None, None);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bench" => is_bench = true,
                "--test" => is_test = true,
                "--short" => is_short = true,
                "--tune" => tunes = true,
                "--results" => results = arguments.next(),
                text => match text.strip_prefix("--results=") {
                    Some(directory) => results = Some(directory.to_owned()),
                    None if !text.starts_with('-') => filter = Some(argument),
                    // What `cargo test` passes on to all binaries alike.
                    None => {}
                },
            }
        }
        let mode = match (is_bench && !is_test, is_short) {
            (false, _) => Mode::Smoke,
            (true, true) => Mode::Short,
            (true, false) => Mode::Full,
        };
        Self {
            tunes,
            results: results.map(PathBuf::from),
            filter,
            ..Self::for_mode(mode)
        }
    }

    /// The plan of a mode, with all groups.
    pub fn for_mode(mode: Mode) -> Self {
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
            tunes: false,
            results: None,
            filter: None,
        }
    }

    /// How many rounds there are in `group`.
    pub fn rounds_of(&self, group: Group) -> usize {
        match group {
            Group::Renewal => 1,
            // Shares are measured for seconds. A time of the processor hardly differs between rounds, and a round
            // takes a minute of it.
            Group::Shares | Group::CompileTime => self.rounds.min(3),
            Group::Permits if self.mode == Mode::Short => self.rounds.min(3),
            _ => self.rounds,
        }
    }

    /// Whether `group` is to run.
    pub fn wants(&self, group: Group) -> bool {
        self.tunes == (group == Group::Tuning)
            && self
                .filter
                .as_deref()
                .is_none_or(|filter| group.name().contains(filter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(line: &str, is_short: bool) -> Plan {
        Plan::from_arguments(line.split_whitespace().map(str::to_owned), is_short)
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
        assert!(plan.wants(Group::Frozen) && !plan.wants(Group::Uncontended));
        assert!(Plan::for_mode(Mode::Full).wants(Group::Frozen));
    }

    #[test]
    fn tuning_is_on_request_and_then_alone() {
        assert!(!plan("--bench", false).wants(Group::Tuning));
        let tuning = plan("--tune --bench", false);
        assert!(tuning.wants(Group::Tuning) && !tuning.wants(Group::HotKey));
    }

    #[test]
    fn the_directory_of_the_results_is_no_filter() {
        for line in ["--results /tmp/r --bench", "--results=/tmp/r --bench"] {
            let plan = plan(line, false);
            assert_eq!(plan.results.as_deref(), Some("/tmp/r".as_ref()));
            assert!(plan.wants(Group::Frozen));
        }
    }
}
