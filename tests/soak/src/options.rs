//! What the command line says.

use std::time::Duration;

pub(crate) const USAGE: &str = "\
usage: redlock-soak [options]
  --seconds N                how long faults are injected (60)
  --processes N              worker processes (4)
  --tasks N                  concurrent tasks in each (4)
  --resources N              resources that they all want (4)
  --nodes N                  redis-servers, each behind a proxy (5)
  --seed N                   of the random choices (1); timing is real and does not repeat
  --least ROW=N              goes on behind that time, for 10 minutes at most, until this row of the
                             table is at N; may be said several times
  --sabotage no-lock         workers only say that they hold the lock
exit code: 0 where nothing was violated, 1 where something was, 2 for these options";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) time: Duration,
    pub(crate) processes: u32,
    pub(crate) tasks: u32,
    pub(crate) resources: u32,
    pub(crate) nodes: u32,
    pub(crate) seed: u64,
    /// Rows of the table, and how far they have to get.
    pub(crate) least: Vec<(String, u64)>,
    /// Workers take no lock: proof that the soak finds violations.
    pub(crate) is_sabotaged: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            processes: 4,
            tasks: 4,
            resources: 4,
            nodes: 5,
            seed: 1,
            least: Vec::new(),
            is_sabotaged: false,
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
                "--seconds" => options.time = Duration::from_secs(number()?),
                "--processes" => options.processes = few()?,
                "--tasks" => options.tasks = few()?,
                "--resources" => options.resources = few()?,
                "--nodes" => options.nodes = few()?,
                "--seed" => options.seed = number()?,
                "--least" => options.least.push(row(&value)?),
                "--sabotage" if value == "no-lock" => options.is_sabotaged = true,
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
