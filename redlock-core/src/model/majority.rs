//! The majority of a number of nodes.

/// Returns the smallest number that is more than half of the `configured` nodes. Two majorities always share a node, so
/// two clients cannot both win.
///
/// ```
/// use redlock_core::quorum::majority;
///
/// assert_eq!([1, 2, 3, 4, 5].map(majority), [1, 2, 2, 3, 3]);
/// ```
///
/// The function uses integer arithmetic over the *configured* nodes. Other libraries used a fraction, or the number of
/// connected nodes, and erred in both directions.
pub const fn majority(configured: usize) -> usize {
    configured / 2 + 1
}
