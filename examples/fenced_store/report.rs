//! What a holder says to its parent, a line each, and what it hears.

use std::fmt;
use std::str::FromStr;

/// What the parent says when a holder may write.
pub(crate) const GO: &str = "go";

/// A line on a holder's stdout.
#[derive(Debug, PartialEq)]
pub(crate) enum Report {
    /// It holds the lock, has read and checked, and writes as soon as it hears [`GO`].
    AboutToWrite {
        read: i64,
        will_write: i64,
        validity_ms: u128,
        /// 0 where it took none.
        token: u64,
    },
    /// What it told its caller: so much is left.
    Withdrawn { left: i64 },
    /// What it told its caller: nothing was withdrawn, because the store refused its token.
    Refused { why: String },
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AboutToWrite {
                read,
                will_write,
                validity_ms,
                token,
            } => write!(
                f,
                "about-to-write {read} {will_write} {validity_ms} {token}"
            ),
            Self::Withdrawn { left } => write!(f, "withdrawn {left}"),
            Self::Refused { why } => write!(f, "refused {why}"),
        }
    }
}

impl FromStr for Report {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let parse = || -> Option<Self> {
            let (what, rest) = line.split_once(' ')?;
            let mut words = rest.split(' ');
            Some(match what {
                "about-to-write" => Self::AboutToWrite {
                    read: words.next()?.parse().ok()?,
                    will_write: words.next()?.parse().ok()?,
                    validity_ms: words.next()?.parse().ok()?,
                    token: words.next()?.parse().ok()?,
                },
                "withdrawn" => Self::Withdrawn {
                    left: rest.parse().ok()?,
                },
                "refused" => Self::Refused { why: rest.into() },
                _ => return None,
            })
        };
        parse().ok_or_else(|| format!("no report: {line:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let reports = [
            Report::AboutToWrite {
                read: 100,
                will_write: 70,
                validity_ms: 1978,
                token: 3,
            },
            Report::Withdrawn { left: 70 },
            Report::Refused {
                why: "token 3 is older than 4".into(),
            },
        ];
        for report in reports {
            assert_eq!(report.to_string().parse(), Ok(report));
        }
        assert!("withdrawn".parse::<Report>().is_err());
    }
}
