//! Sets of permits, and what a node says of them.

use std::fmt;
use std::sync::Arc;

use crate::model::kind::MAX_PERMITS;
use crate::model::resource::Shown;
use crate::model::token;

const WORDS: usize = MAX_PERMITS as usize / 64;

/// Some of the permits of a resource, by their numbers: 0 and up.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PermitSet([u64; WORDS]);

impl PermitSet {
    /// The permits 0 up to `count`, without `count`.
    pub fn below(count: u16) -> Self {
        (0..count).collect()
    }

    /// Adds a permit. A number of [`MAX_PERMITS`] or more is no permit, and is left out.
    pub fn insert(&mut self, permit: u16) {
        if let Some(word) = self.0.get_mut(usize::from(permit / 64)) {
            *word |= 1 << (permit % 64);
        }
    }

    /// True if the permit is in the set.
    pub fn contains(&self, permit: u16) -> bool {
        let word = self.0.get(usize::from(permit / 64));
        word.is_some_and(|word| word >> (permit % 64) & 1 == 1)
    }

    /// The permits, in order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + use<> {
        let set = *self;
        (0..MAX_PERMITS).filter(move |permit| set.contains(*permit))
    }

    /// The permit with the smallest number.
    pub fn first(&self) -> Option<u16> {
        self.iter().next()
    }

    /// The number of permits.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The permits of this set and of `other`.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

impl FromIterator<u16> for PermitSet {
    fn from_iter<I: IntoIterator<Item = u16>>(permits: I) -> Self {
        let mut set = Self::default();
        permits.into_iter().for_each(|permit| set.insert(permit));
        set
    }
}

/// The numbers, with commas.
impl fmt::Display for PermitSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, permit) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            permit.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for PermitSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PermitSet({self})")
    }
}

/// What a node says of the permits of a resource beside its vote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermitReport {
    /// The permits that the node gave to the acquisition: as many as it takes, or none.
    pub taken: PermitSet,
    /// The permits that were free before.
    pub free: PermitSet,
    /// Another number of permits, with which another process uses the resource.
    pub other_count: Option<CountRecord>,
}

/// The record of how many permits a resource has: `4 web-7/3121`, the number and the `host/pid` of the
/// process that wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountRecord {
    count: u64,
    owner: Arc<[u8]>,
}

impl CountRecord {
    /// Reads a record; `None` if the text does not begin with a number.
    pub fn read(text: &[u8]) -> Option<Self> {
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let count = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
        let owner = text[digits..].strip_prefix(b" ").unwrap_or_default();
        Some(Self {
            count,
            owner: owner[..owner.len().min(token::LONGEST)].into(),
        })
    }

    /// The record of a process with `count` permits, whose acquisitions have tokens like `token`.
    pub(crate) fn written(count: u16, token: &[u8]) -> Vec<u8> {
        let owner = token::owner_of(token).unwrap_or_default();
        format!("{count} {owner}").into_bytes()
    }

    /// The number of permits.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The `host/pid` of the process, made safe for a log line.
    pub fn owner(&self) -> String {
        if self.owner.is_empty() {
            return "another client".to_owned();
        }
        Shown(&self.owner).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_permits_that_were_put_into_it() {
        let set: PermitSet = [3, 0, 255, 64, 3, 256, u16::MAX].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 3, 64, 255]);
        assert_eq!((set.len(), set.first()), (4, Some(0)));
        assert_eq!(set.to_string(), "0, 3, 64, 255");
        assert_eq!(PermitSet::below(4).and(set).len(), 6);
        assert!(PermitSet::below(0).is_empty() && PermitSet::below(256).len() == 256);
    }

    #[test]
    fn a_record_names_the_number_and_the_process() {
        let token = format!("web-7/3121/{}", "0f".repeat(16));
        let written = CountRecord::written(4, token.as_bytes());
        assert_eq!(written, b"4 web-7/3121");
        let read = CountRecord::read(&written).unwrap();
        assert_eq!((read.count(), read.owner()), (4, "web-7/3121".to_owned()));
        let foreign = CountRecord::read(b"7").unwrap();
        assert_eq!(
            (foreign.count(), foreign.owner()),
            (7, "another client".to_owned())
        );
        let hostile = CountRecord::read(b"8 a\nb").unwrap();
        assert_eq!(hostile.owner(), "a\\u{a}b");
        for garbage in [&b""[..], b" 4", b"four", b"99999999999999999999"] {
            assert_eq!(CountRecord::read(garbage), None);
        }
    }
}
