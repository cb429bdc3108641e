//! What a holder has: names, and what share of them. To add a kind of lock that leaves room for others,
//! add a [`Share`], say what [fits](Share::fits_beside) beside it, and draw it in [`Kind::draw`].

use std::fmt;
use std::str::FromStr;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::options::resource_name;

/// The most names of one lock.
const MOST_NAMES: u32 = 3;

/// Which kind of lock one holder takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Sets,
    Permit,
    Reader,
    Writer,
    /// A term of an election.
    Office,
}

impl Kind {
    /// The kind of lock that one holder takes.
    pub(crate) fn draw(rng: &mut StdRng) -> Self {
        match rng.random_range(0..100) {
            0..15 => Self::Sets,
            15..35 => Self::Permit,
            35..60 => Self::Reader,
            60..72 => Self::Writer,
            72..78 => Self::Office,
            _ => Self::Plain,
        }
    }

    /// What a holder of this kind is to lock, of this number of resources.
    pub(crate) fn claim(self, rng: &mut StdRng, resources: u32) -> Claimed {
        let first = rng.random_range(0..resources);
        let count = match self {
            Self::Sets => rng.random_range(1..=MOST_NAMES.min(resources)),
            _ => 1,
        };
        let step = match count {
            1 => 1,
            _ => rng.random_range(1..=(resources - 1) / (count - 1)),
        };
        let numbers = (0..count).map(|place| (first + place * step) % resources);
        Claimed {
            names: numbers.map(resource_name).collect(),
            share: match self {
                Self::Reader => Share::Reads,
                _ => Share::Whole,
            },
        }
    }
}

/// What a holder has of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// All names: no other holder has any of them.
    Whole,
    /// Other readers may have the names as well.
    Reads,
}

impl Share {
    /// True if a holder with this share may come while these others hold the same name.
    pub(crate) fn fits_beside(self, others: impl IntoIterator<Item = Self>) -> bool {
        match self {
            Self::Whole => others.into_iter().next().is_none(),
            Self::Reads => others.into_iter().all(|other| other == Self::Reads),
        }
    }
}

/// What is written behind the names of a reader.
const READS: &str = "/reads";

/// The names that a holder has, and its share of them. Written as one word: names with `+` between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claimed {
    pub(crate) names: Vec<String>,
    pub(crate) share: Share,
}

impl fmt::Display for Claimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join("+"))?;
        match self.share {
            Share::Whole => Ok(()),
            Share::Reads => f.write_str(READS),
        }
    }
}

impl FromStr for Claimed {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        let (names, share) = match word.strip_suffix(READS) {
            Some(names) => (names, Share::Reads),
            None => (word, Share::Whole),
        };
        let names: Vec<String> = names.split('+').map(str::to_owned).collect();
        let is_whole = names.iter().all(|name| !name.is_empty());
        is_whole.then_some(Self { names, share }).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_claimed_is_read_as_it_is_written() {
        let claimed: Claimed = "soak:0+soak:3".parse().unwrap();
        assert_eq!(claimed.names, ["soak:0", "soak:3"]);
        assert_eq!(claimed.to_string(), "soak:0+soak:3");
        let read: Claimed = "soak:1/reads".parse().unwrap();
        assert_eq!((read.names.len(), read.share), (1, Share::Reads));
        assert_eq!(read.to_string(), "soak:1/reads");
        assert_eq!("a+".parse::<Claimed>(), Err(()));
    }
}
