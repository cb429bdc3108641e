//! What workers write down: one event a line.

use std::fmt;
use std::str::FromStr;

use crate::claimed::Claimed;
use crate::clock::Moment;

/// The worker, and a number that it gives out once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LeaseId {
    pub(crate) worker: u32,
    pub(crate) number: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Enter(Enter),
    /// The lease is now known to be valid until then at least.
    Until {
        lease: LeaseId,
        until: Moment,
        why: Longer,
    },
    /// Written before anything is done that ends the lease.
    Leave {
        lease: LeaseId,
        /// Up to when the holder knows that the lease was valid.
        until: Moment,
        how: How,
    },
    /// The store refused the holder's token, and the lease was still valid when it heard of that.
    Unfit {
        lease: LeaseId,
        highest: u64,
    },
    Count(Kind),
    /// What must not happen in a worker at all.
    Broken(String),
}

/// An acquisition that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Enter {
    pub(crate) lease: LeaseId,
    pub(crate) claimed: Claimed,
    /// The winning attempt began then or later.
    pub(crate) began: Moment,
    /// The acquisition had returned by then.
    pub(crate) entered: Moment,
    /// The lease is valid until then at least, unless it ends before. Not behind `entered` where it
    /// was over as soon as it was there.
    pub(crate) until: Moment,
    pub(crate) token: Option<u64>,
}

/// A small enum that is written as a word.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum $name {
            $($(#[$about])* $variant,)*
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $word,)* })
            }
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(word: &str) -> Result<Self, ()> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(()),
                }
            }
        }
    };
}

words! {
    /// Why a lease lives longer.
    Longer {
        Extended = "extended",
        Renewed = "renewed",
    }
}

words! {
    /// The state of a lease when its holder left.
    How {
        Valid = "valid",
        Expired = "expired",
        Taken = "taken",
        Forgotten = "forgotten",
        Revoked = "revoked",
        Released = "released",
    }
}

words! {
    /// What is only counted.
    Kind {
        Contended = "contended",
        Unavailable = "unavailable",
        /// An acquisition that was dropped before it was done.
        CutWaiting = "cut-waiting",
        /// A body that was dropped in the middle.
        CutHolding = "cut-holding",
        Panicked = "panicked",
        NotExtended = "not-extended",
        /// A writer went in.
        Wrote = "wrote",
        /// A term of an election began.
        Elected = "elected",
        /// A candidate left before it was elected.
        NotElected = "not-elected",
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.worker, self.number)
    }
}

impl FromStr for LeaseId {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        let (worker, number) = word.split_once('.').ok_or(())?;
        Ok(Self {
            worker: worker.parse().map_err(|_| ())?,
            number: number.parse().map_err(|_| ())?,
        })
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enter(Enter {
                lease,
                claimed,
                began,
                entered,
                until,
                token,
            }) => {
                write!(f, "enter {lease} {claimed} {began} {entered} {until} ")?;
                match token {
                    Some(token) => token.fmt(f),
                    None => f.write_str("-"),
                }
            }
            Self::Until { lease, until, why } => write!(f, "until {lease} {until} {why}"),
            Self::Leave { lease, until, how } => write!(f, "leave {lease} {until} {how}"),
            Self::Unfit { lease, highest } => write!(f, "unfit {lease} {highest}"),
            Self::Count(kind) => write!(f, "count {kind}"),
            Self::Broken(text) => write!(f, "broken {}", text.replace('\n', " ")),
        }
    }
}

impl FromStr for Event {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        fn next<T: FromStr>(words: &mut dyn Iterator<Item = &str>) -> Result<T, ()> {
            words.next().and_then(|word| word.parse().ok()).ok_or(())
        }
        let (verb, rest) = line.split_once(' ').ok_or(())?;
        let mut words = rest.split(' ');
        let words = &mut words;
        Ok(match verb {
            "enter" => Self::Enter(Enter {
                lease: next(words)?,
                claimed: next(words)?,
                began: next(words)?,
                entered: next(words)?,
                until: next(words)?,
                token: match words.next() {
                    Some("-") => None,
                    word => Some(word.and_then(|word| word.parse().ok()).ok_or(())?),
                },
            }),
            "until" => Self::Until {
                lease: next(words)?,
                until: next(words)?,
                why: next(words)?,
            },
            "leave" => Self::Leave {
                lease: next(words)?,
                until: next(words)?,
                how: next(words)?,
            },
            "unfit" => Self::Unfit {
                lease: next(words)?,
                highest: next(words)?,
            },
            "count" => Self::Count(next(words)?),
            "broken" => Self::Broken(rest.to_owned()),
            _ => return Err(()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_they_are_written() {
        let lease = LeaseId {
            worker: 3,
            number: 17,
        };
        let enter = Enter {
            lease,
            claimed: "soak:0+soak:3".parse().unwrap(),
            began: 1,
            entered: 2,
            until: 3,
            token: Some(4),
        };
        let unfenced = Enter {
            token: None,
            ..enter.clone()
        };
        let until = 9;
        for event in [
            Event::Enter(enter),
            Event::Enter(unfenced),
            Event::Until {
                lease,
                until,
                why: Longer::Renewed,
            },
            Event::Leave {
                lease,
                until,
                how: How::Valid,
            },
            Event::Unfit { lease, highest: 5 },
            Event::Count(Kind::CutWaiting),
            Event::Broken("no, no".to_owned()),
        ] {
            assert_eq!(event.to_string().parse(), Ok(event));
        }
        assert_eq!(Event::from_str("enter 3.17 soak:0 1 2"), Err(()));
        assert_eq!(Event::from_str("leave"), Err(()));
    }
}
