//! What a caller's process says to the process that directs the faults, a line each.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    Ready,
    /// It is about to send this command, and waits.
    Before(String),
    /// Its body runs. A token of 0 is none.
    Inside {
        token: u64,
        clock_reads: u32,
    },
    /// It has made sure of its lock for the last time, and waits before its write.
    AboutToWrite,
    /// It writes, and waits for the store's answer.
    Writes {
        token: u64,
    },
    Ended(End),
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Refused,
    /// The body failed, as it was told to.
    Failed,
    /// The store refused the write.
    Fenced,
    /// The servers could not be asked.
    Down(String),
    /// The body was cancelled, as the lock was not its own any more.
    Lost(String),
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("ready"),
            Self::Before(command) => write!(f, "before {command}"),
            Self::Inside { token, clock_reads } => write!(f, "inside {token} {clock_reads}"),
            Self::AboutToWrite => f.write_str("about"),
            Self::Writes { token } => write!(f, "writes {token}"),
            Self::Ended(End::Done) => f.write_str("done"),
            Self::Ended(End::Refused) => f.write_str("refused"),
            Self::Ended(End::Failed) => f.write_str("failed"),
            Self::Ended(End::Fenced) => f.write_str("fenced"),
            // An error of a server may have several lines.
            Self::Ended(End::Down(why)) => write!(f, "down {}", why.replace('\n', " ")),
            Self::Ended(End::Lost(why)) => write!(f, "lost {}", why.replace('\n', " ")),
        }
    }
}

impl FromStr for Report {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let report = match word {
            "ready" => Self::Ready,
            "before" => Self::Before(rest.to_owned()),
            "inside" => inside(rest).ok_or_else(|| format!("no report: {line:?}"))?,
            "about" => Self::AboutToWrite,
            "writes" => Self::Writes {
                token: rest.parse().map_err(|_| format!("no token: {line:?}"))?,
            },
            "done" => Self::Ended(End::Done),
            "refused" => Self::Ended(End::Refused),
            "failed" => Self::Ended(End::Failed),
            "fenced" => Self::Ended(End::Fenced),
            "down" => Self::Ended(End::Down(rest.to_owned())),
            "lost" => Self::Ended(End::Lost(rest.to_owned())),
            _ => return Err(format!("no report: {line:?}")),
        };
        Ok(report)
    }
}

fn inside(numbers: &str) -> Option<Report> {
    let (token, clock_reads) = numbers.split_once(' ')?;
    Some(Report::Inside {
        token: token.parse().ok()?,
        clock_reads: clock_reads.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let ends = [
            End::Done,
            End::Refused,
            End::Failed,
            End::Fenced,
            End::Down("connection refused".into()),
            End::Lost("its ttl is over".into()),
        ];
        let reports = [
            Report::Ready,
            Report::Before("SETNX".into()),
            Report::Inside {
                token: 3,
                clock_reads: 2,
            },
            Report::AboutToWrite,
            Report::Writes { token: 3 },
        ];
        for report in reports.into_iter().chain(ends.map(Report::Ended)) {
            assert_eq!(report.to_string().parse(), Ok(report));
        }
        assert!("inside 3".parse::<Report>().is_err());
        assert!("gone".parse::<Report>().is_err());
    }
}
