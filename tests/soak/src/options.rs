//! What the command line says.

use std::time::Duration;

use crate::claimed::Locks;

pub(crate) const USAGE: &str = "\
usage: redlock-soak [options]
  --minutes N, --seconds N   how long faults are injected (1 minute)
  --processes N              worker processes (4)
  --tasks N                  concurrent tasks in each (4)
  --resources N              resources that they all want (4)
  --nodes N                  redis-servers, each behind a proxy (5)
  --locks all                on the same resources, locks of one and of one to three of them, permits,
                             readers and writers, and offices; or only some of these: plain, sets,
                             permits, sharing (all)
  --seed N                   of the random choices (1); timing is real and does not repeat
  --throttle stop            instead of all other faults: processes and servers are stopped for 5 to
                             80 ms now and then, and servers answer with errors; callers wait for
                             200 µs to 50 ms
  --least ROW=N              goes on behind that time, for 10 minutes at most, until this row of the
                             table is at N; may be said several times
  --sabotage no-lock         workers only say that they hold the lock
  --sabotage amnesia         nodes come back empty at once, all the time, and nothing guards that
exit code: 0 where nothing was violated, 1 where something was, 2 for these options";

/// Something that makes the soak find violations: proof that it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    NoLock,
    Amnesia,
}

impl Sabotage {
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        match name {
            "no-lock" => Ok(Self::NoLock),
            "amnesia" => Ok(Self::Amnesia),
            _ => Err(format!("no sabotage is called `{name}`")),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NoLock => "no-lock",
            Self::Amnesia => "amnesia",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) time: Duration,
    pub(crate) processes: u32,
    pub(crate) tasks: u32,
    pub(crate) resources: u32,
    pub(crate) nodes: u32,
    pub(crate) locks: Locks,
    pub(crate) seed: u64,
    /// Rows of the table, and how far they have to get.
    pub(crate) least: Vec<(String, u64)>,
    pub(crate) sabotage: Option<Sabotage>,
    pub(crate) is_throttled: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            processes: 4,
            tasks: 4,
            resources: 4,
            nodes: 5,
            locks: Locks::All,
            seed: 1,
            least: Vec::new(),
            sabotage: None,
            is_throttled: false,
        }
    }
}

impl Options {
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.into_iter();
        while let Some(option) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| format!("`{option}` needs a value"))?;
            let number = || -> Result<u64, String> {
                let number = value.parse().ok().filter(|number| *number > 0);
                number.ok_or_else(|| format!("`{option}` needs a number above 0, not `{value}`"))
            };
            // More of anything than this is a slip of the finger.
            let few = || {
                let number = number()?;
                let few = u32::try_from(number).ok().filter(|few| *few <= 100);
                few.ok_or_else(|| format!("`{option}` of {number} is above 100"))
            };
            match option.as_str() {
                "--minutes" => options.time = Duration::from_secs(60 * u64::from(few()?)),
                "--seconds" => options.time = Duration::from_secs(number()?),
                "--processes" => options.processes = few()?,
                "--tasks" => options.tasks = few()?,
                "--resources" => options.resources = few()?,
                "--nodes" => options.nodes = few()?,
                "--locks" => options.locks = Locks::parse(&value)?,
                "--seed" => options.seed = number()?,
                "--least" => options.least.push(row(&value)?),
                "--throttle" if value == "stop" => options.is_throttled = true,
                "--sabotage" => options.sabotage = Some(Sabotage::parse(&value)?),
                _ => return Err(format!("unknown option `{option} {value}`")),
            }
        }
        Ok(options)
    }

    pub(crate) fn resource_names(&self) -> impl Iterator<Item = String> {
        (0..self.resources).map(resource_name)
    }
}

/// A row and a number: `acquisitions=50`.
fn row(text: &str) -> Result<(String, u64), String> {
    let row = text
        .split_once('=')
        .and_then(|(name, least)| Some((name.to_owned(), least.parse().ok()?)));
    row.ok_or_else(|| format!("`--least` needs a row and a number, not `{text}`"))
}

pub(crate) fn resource_name(number: u32) -> String {
    format!("soak:{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read() {
        let options = parse("--minutes 5 --processes 3 --seed 9 --sabotage no-lock").unwrap();
        assert_eq!(options.time, Duration::from_secs(300));
        assert_eq!((options.processes, options.seed), (3, 9));
        assert_eq!(options.sabotage, Some(Sabotage::NoLock));
        let options = parse("--least overlaps=1 --least acquisitions=50").unwrap();
        let least = [("overlaps".to_owned(), 1), ("acquisitions".to_owned(), 50)];
        assert_eq!(options.least, least);
        assert_eq!(parse("--locks sets").unwrap().locks, Locks::Sets);
        assert_eq!(parse("").unwrap(), Options::default());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "--nodes",
            "--nodes 0",
            "--nodes many",
            "--nodes 101",
            "--sabotage coffee",
            "--locks none",
            "--speed 1",
            "--throttle thumb",
            "--least overlaps",
            "--least overlaps=some",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
