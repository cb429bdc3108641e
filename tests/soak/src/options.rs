//! What the command line says.

use serde::{Deserialize, Serialize};

pub(crate) const USAGE: &str = "\
usage: redlock-soak [options]
  --seconds N                how long faults are injected at least (60): until each kind of lock, of end and
                             of fault was there, for 10 minutes longer at most
  --processes N              worker processes (4), up to 100
  --tasks N                  concurrent tasks in each (4), up to 100
  --resources N              resources that they all want (4), up to 100
  --nodes N                  redis-servers, each behind a proxy (5), from 2 to 100
  --seed N                   of the random choices (1); timing is real and does not repeat
  --kills N                  kills of workers at least (1); if more, nothing else is done to them
  --turns N                  hot fenced locks alone, until there were N turns, a tenth of them taken over, and a fault
                             for each ten thousand; processes die at each step of a hand-over (0)
  --permits                  each holder wants a permit
  --sabotage                 each holder locks a resource of its own
exit code: 0 if nothing was violated, 1 if something was, 2 for these options";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Options {
    pub(crate) seconds: u32,
    pub(crate) processes: u32,
    pub(crate) tasks: u32,
    pub(crate) resources: u32,
    pub(crate) nodes: u32,
    pub(crate) seed: u32,
    pub(crate) kills: u32,
    pub(crate) turns: u32,
    pub(crate) wants_permits: bool,
    /// Holders do not exclude each other: proof that the soak finds violations.
    pub(crate) is_sabotaged: bool,
}

impl Options {
    /// Reads the command line. `None` if it makes no sense.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut options = Self {
            seconds: 60,
            processes: 4,
            tasks: 4,
            resources: 4,
            nodes: 5,
            seed: 1,
            kills: 1,
            turns: 0,
            wants_permits: false,
            is_sabotaged: false,
        };
        let mut words = words.into_iter();
        while let Some(option) = words.next() {
            let (value, range) = match option.as_str() {
                "--seconds" => (&mut options.seconds, 1..=u32::MAX),
                "--processes" => (&mut options.processes, 1..=100),
                "--tasks" => (&mut options.tasks, 1..=100),
                "--resources" => (&mut options.resources, 1..=100),
                "--nodes" => (&mut options.nodes, 2..=100),
                "--seed" => (&mut options.seed, 0..=u32::MAX),
                "--kills" => (&mut options.kills, 1..=u32::MAX),
                "--turns" => (&mut options.turns, 1..=u32::MAX),
                "--permits" => {
                    options.wants_permits = true;
                    continue;
                }
                "--sabotage" => {
                    options.is_sabotaged = true;
                    continue;
                }
                _ => return None,
            };
            let number = words.next()?.parse().ok();
            *value = number.filter(|number| range.contains(number))?;
        }
        Some(options)
    }

    pub(crate) fn resource_names(&self) -> impl Iterator<Item = String> {
        (0..self.resources).map(resource_name)
    }
}

pub(crate) fn resource_name(number: u32) -> String {
    format!("soak:{number}")
}
