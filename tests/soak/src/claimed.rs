//! What a holder has: names, and what share of them. To add a kind of lock that leaves room for others,
//! add a [`Share`], say what [fits](Share::fits_beside) beside it, and draw it in [`Locks::draw`].

use std::fmt;
use std::str::FromStr;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::options::resource_name;

/// The most names of one lock.
const MOST_NAMES: u32 = 3;

/// Which locks are taken: `--locks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locks {
    /// One name each.
    Plain,
    /// One to three names each, so that most of them overlap.
    Sets,
}

impl Locks {
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        match name {
            "plain" => Ok(Self::Plain),
            "sets" => Ok(Self::Sets),
            _ => Err(format!("no locks are called `{name}`")),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Sets => "sets",
        }
    }

    /// What one holder is to lock, of this number of resources.
    pub(crate) fn draw(self, rng: &mut StdRng, resources: u32) -> Claimed {
        let first = rng.random_range(0..resources);
        let count = match self {
            Self::Plain => 1,
            Self::Sets => rng.random_range(1..=MOST_NAMES.min(resources)),
        };
        let step = match self {
            Self::Sets if count > 1 => rng.random_range(1..=(resources - 1) / (count - 1)),
            _ => 1,
        };
        let numbers = (0..count).map(|place| (first + place * step) % resources);
        Claimed {
            names: numbers.map(resource_name).collect(),
            share: Share::Whole,
        }
    }
}

/// What a holder has of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// All names: no other holder has any of them.
    Whole,
}

impl Share {
    /// True if a holder with this share may come while these others hold the same name.
    pub(crate) fn fits_beside(self, others: impl IntoIterator<Item = Self>) -> bool {
        match self {
            Self::Whole => others.into_iter().next().is_none(),
        }
    }
}

/// The names that a holder has, and its share of them. Written as one word: names with `+` between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claimed {
    pub(crate) names: Vec<String>,
    pub(crate) share: Share,
}

impl fmt::Display for Claimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.share {
            Share::Whole => f.write_str(&self.names.join("+")),
        }
    }
}

impl FromStr for Claimed {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        let names: Vec<String> = word.split('+').map(str::to_owned).collect();
        let share = Share::Whole;
        let is_whole = names.iter().all(|name| !name.is_empty());
        is_whole.then_some(Self { names, share }).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn sets_have_one_to_three_different_names_and_plain_locks_one() {
        let mut rng = StdRng::seed_from_u64(7);
        for resources in 1..6 {
            let mut counts = [0; 4];
            for _ in 0..1000 {
                let mut names = Locks::Sets.draw(&mut rng, resources).names;
                counts[names.len()] += 1;
                names.sort();
                names.dedup_by(|one, other| one == other && panic!("{one} twice"));
                assert_eq!(Locks::Plain.draw(&mut rng, resources).names.len(), 1);
            }
            let most = resources.min(MOST_NAMES) as usize;
            let all = counts[1..=most].iter().all(|count| *count > 100);
            assert!(all, "{resources}: {counts:?}");
        }
    }

    #[test]
    fn what_is_claimed_is_read_as_it_is_written() {
        let claimed: Claimed = "soak:0+soak:3".parse().unwrap();
        assert_eq!(claimed.names, ["soak:0", "soak:3"]);
        assert_eq!(claimed.to_string(), "soak:0+soak:3");
        assert_eq!("a+".parse::<Claimed>(), Err(()));
    }

    #[test]
    fn a_whole_share_fits_beside_none() {
        assert!(Share::Whole.fits_beside([]));
        assert!(!Share::Whole.fits_beside([Share::Whole]));
    }
}
