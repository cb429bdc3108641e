//! The number of nodes that decides.

/// The smallest number of the `configured` nodes that is more than half of them. Two majorities always
/// share a node. That node is the reason why two clients cannot both win.
///
/// ```
/// use redlock_core::quorum::majority;
///
/// assert_eq!([1, 2, 3, 4, 5].map(majority), [1, 2, 2, 3, 3]);
/// ```
///
/// Integer arithmetic over the *configured* nodes. Other libraries used a fraction, or the number of
/// connected nodes, and erred in both directions.
pub const fn majority(configured: usize) -> usize {
    configured / 2 + 1
}
