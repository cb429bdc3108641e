//! The kind of a lock: which other holders its holder excludes, and how many holders it has at a time.

use std::fmt;

use crate::model::invalid::Invalid;

/// The most permits of a resource. A server looks at all of them in one script, and serves no other client
/// meanwhile.
pub const MAX_PERMITS: u16 = 256;

/// The most permits of one lease.
pub const MAX_TAKE: u16 = 8;

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
    /// The resource has a number of permits. Each lease takes one or several.
    Permits(Permits),
    /// The holder shares the resource with other readers only. Readers that come while
    /// a writer waits let the writer go first.
    Read,
    /// The holder is the only one. While it waits, no new reader goes in; when it leaves, the readers
    /// that were refused meanwhile go in before the next writer.
    Write,
}

/// The permits of a resource, and how many of them a lease takes.
///
/// # Example: at most four holders
/// ```
/// use redlock_core::Request;
/// use redlock_core::request::{Kind, Permits};
///
/// # fn main() -> Result<(), redlock_core::error::Invalid> {
/// let mut request = Request::new("reports");
/// request.kind = Kind::Permits(Permits::new(4, 1)?);
/// assert!(Permits::new(4, 5).is_err(), "there are four only");
/// # Ok(())
/// # }
/// ```
// Small: each acquisition's future has a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Permits {
    /// The number of permits less one.
    last: u8,
    take: u8,
}

impl Kind {
    /// The kind as the nodes see it: one permit is the plain lock.
    pub(crate) fn on_nodes(self) -> Self {
        match self {
            Self::Permits(Permits { last: 0, .. }) => Self::Exclusive,
            other => other,
        }
    }

    /// The permits, unless the lock is a plain one on the nodes.
    pub(crate) fn permits(self) -> Option<Permits> {
        match self.on_nodes() {
            Self::Permits(permits) => Some(permits),
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

    /// True if a lease of this kind may be shared by a call that wants a lease of the kind `wanted`: it has
    /// what the call wants.
    pub fn covers(self, wanted: Self) -> bool {
        match (self.on_nodes(), wanted.on_nodes()) {
            (Self::Permits(has), Self::Permits(wants)) => {
                has.last == wants.last && has.take >= wants.take
            }
            (Self::Permits(_), _) | (_, Self::Permits(_)) => false,
            (has, wants) => has != Self::Read || wants == Self::Read,
        }
    }
}

impl Permits {
    /// The resource has `count` permits. A lease takes `take` of them, all or none.
    ///
    /// # Errors
    /// [`Invalid`] unless there are 1 to [`MAX_PERMITS`] permits, and a lease takes 1 to [`MAX_TAKE`] of them.
    pub fn new(count: u16, take: u16) -> Result<Self, Invalid> {
        if count == 0 || count > MAX_PERMITS {
            return Err(Invalid::new(format!(
                "`permits` of {count} is not a number from 1 to {MAX_PERMITS}; a server looks at all \
                 permits at once, so spread more holders over several resources",
            )));
        }
        let (Ok(last), Ok(small)) = (u8::try_from(count - 1), u8::try_from(take)) else {
            return Err(wrong_take(take));
        };
        if take == 0 || take > MAX_TAKE {
            return Err(wrong_take(take));
        }
        if take > count {
            return Err(Invalid::new(format!(
                "`take` of {take} is above the {count} permits of the resource, so no acquisition could \
                 ever succeed; raise `permits` or lower `take`",
            )));
        }
        Ok(Self { last, take: small })
    }

    /// The number of permits of the resource.
    pub fn count(self) -> u16 {
        u16::from(self.last) + 1
    }

    /// The number of permits that a lease takes.
    pub fn take(self) -> u16 {
        self.take.into()
    }
}

fn wrong_take(take: u16) -> Invalid {
    Invalid::new(format!(
        "`take` of {take} is not a number from 1 to {MAX_TAKE}, the most permits of one lease",
    ))
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exclusive => f.write_str("a plain lock"),
            Self::Read => f.write_str("a read lock"),
            Self::Write => f.write_str("a write lock"),
            Self::Permits(permits) => match (permits.count(), permits.take()) {
                (count, 1) => write!(f, "one of {count} permits"),
                (count, take) => write!(f, "{take} of {count} permits"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(count: u16, take: u16) -> Kind {
        Kind::Permits(Permits::new(count, take).unwrap())
    }

    #[test]
    fn numbers_outside_the_limits_are_refused_with_the_limit() {
        let refusal = |count, take| Permits::new(count, take).unwrap_err().to_string();
        assert!(refusal(0, 1).contains("`permits` of 0"));
        assert!(refusal(257, 1).contains("256"));
        assert!(refusal(4, 0).contains("`take` of 0"));
        assert!(refusal(16, 9).contains("from 1 to 8"));
        assert!(refusal(256, 256).contains("`take` of 256"));
        assert!(refusal(4, 5).contains("above the 4 permits"));
        for (count, take) in [(1, 1), (256, 8), (8, 8)] {
            assert!(Permits::new(count, take).is_ok());
        }
    }

    #[test]
    fn one_permit_is_a_plain_lock() {
        assert_eq!(kind(1, 1).on_nodes(), Kind::Exclusive);
        assert_eq!(kind(1, 1).permits(), None);
        assert!(kind(1, 1).covers(Kind::Exclusive) && Kind::Exclusive.covers(kind(1, 1)));
    }

    #[test]
    fn a_lease_covers_as_many_permits_of_the_same_number_as_it_has() {
        assert!(kind(8, 3).covers(kind(8, 2)));
        for other in [kind(8, 4), kind(9, 1), Kind::Exclusive] {
            assert!(!kind(8, 3).covers(other), "{other}");
        }
        assert!(!Kind::Exclusive.covers(kind(8, 1)));
    }

    #[test]
    fn a_holder_that_is_alone_covers_all_but_permits_and_a_reader_covers_readers() {
        let (read, write, plain) = (Kind::Read, Kind::Write, Kind::Exclusive);
        for wanted in [read, write, plain, kind(1, 1)] {
            assert!(write.covers(wanted) && plain.covers(wanted), "{wanted}");
            assert_eq!(read.covers(wanted), wanted == read, "{wanted}");
        }
        for mode in [read, write] {
            assert!(!mode.covers(kind(8, 1)) && !kind(8, 1).covers(mode));
        }
    }
}
