//! What a lock excludes.

/// The kind of a lock: whom its holder excludes.
///
/// All kinds of one resource exclude each other by the same key, also locks of other clients that use
/// `SET key value NX`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The holder is the only one. The lock takes no part in the fairness between readers and writers.
    #[default]
    Exclusive,
    /// The holder shares the resource with other readers, and with nobody else. Readers that come while
    /// a writer waits let the writer go first.
    Read,
    /// The holder is the only one. While it waits, no new reader goes in; when it leaves, the readers
    /// that were refused meanwhile go in before the next writer.
    Write,
}

impl Kind {
    /// True for readers and writers.
    pub(crate) const fn is_shared(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}
