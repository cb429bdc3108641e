//! The kind of a lock: which other holders its holder excludes, and how many holders it has at a time.

use std::fmt;

/// The most permits of a resource. A server looks at all of them in one script, and serves no other client
/// meanwhile.
pub const MAX_PERMITS: u16 = 256;

/// The kind of a lock: which other holders its holder excludes.
///
/// All kinds of one resource exclude each other by the same key, also locks of other clients that use
/// `SET key value NX`. Of permits, this is the key of the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The holder is the only one. The lock takes no part in the fairness between readers and writers.
    #[default]
    Exclusive,
    /// The resource has this number of permits, and each holder has one of them.
    Permits(u16),
    /// The holder shares the resource with other readers only. Readers that come while
    /// a writer waits let the writer go first.
    Read,
    /// The holder is the only one. While it waits, no new reader goes in; when it leaves, the readers
    /// that were refused meanwhile go in before the next writer.
    Write,
}

impl Kind {
    /// The kind as the nodes see it: one permit is the plain lock.
    pub(crate) fn on_nodes(self) -> Self {
        match self {
            Self::Permits(1) => Self::Exclusive,
            other => other,
        }
    }

    /// The number of permits, unless the lock is a plain one on the nodes.
    pub(crate) fn permits(self) -> Option<u16> {
        match self.on_nodes() {
            Self::Permits(count) => Some(count),
            _ => None,
        }
    }

    /// True for readers and writers.
    ///
    /// ```
    /// use redlock_core::request::Kind;
    ///
    /// assert!(Kind::Read.is_shared() && Kind::Write.is_shared() && !Kind::Exclusive.is_shared());
    /// ```
    pub const fn is_shared(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// True if a holder excludes others of its kind in other processes.
    pub(crate) const fn excludes_its_like(self) -> bool {
        !matches!(self, Self::Read)
    }

    /// True if a lease of this kind may be shared by a call that wants a lease of the kind `wanted`: it has
    /// what the call wants.
    pub fn covers(self, wanted: Self) -> bool {
        match (self.on_nodes(), wanted.on_nodes()) {
            (Self::Permits(has), Self::Permits(wants)) => has == wants,
            (Self::Permits(_), _) | (_, Self::Permits(_)) => false,
            (has, wants) => has != Self::Read || wants == Self::Read,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exclusive => f.write_str("a plain lock"),
            Self::Read => f.write_str("a read lock"),
            Self::Write => f.write_str("a write lock"),
            Self::Permits(count) => write!(f, "one of {count} permits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_permit_is_a_plain_lock() {
        let one = Kind::Permits(1);
        assert_eq!((one.on_nodes(), one.permits()), (Kind::Exclusive, None));
        assert!(one.covers(Kind::Exclusive) && Kind::Exclusive.covers(one));
    }

    #[test]
    fn a_permit_covers_one_of_the_same_number_of_permits() {
        let eight = Kind::Permits(8);
        assert!(eight.covers(eight));
        for other in [Kind::Permits(9), Kind::Exclusive] {
            assert!(!eight.covers(other) && !other.covers(eight), "{other}");
        }
    }

    #[test]
    fn a_holder_that_is_alone_covers_all_but_permits_and_a_reader_covers_readers() {
        let (read, write, plain) = (Kind::Read, Kind::Write, Kind::Exclusive);
        for wanted in [read, write, plain, Kind::Permits(1)] {
            assert!(write.covers(wanted) && plain.covers(wanted), "{wanted}");
            assert_eq!(read.covers(wanted), wanted == read, "{wanted}");
        }
        for mode in [read, write] {
            assert!(!mode.covers(Kind::Permits(8)) && !Kind::Permits(8).covers(mode));
        }
    }
}
