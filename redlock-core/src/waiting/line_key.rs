//! What callers have in common that stand in the same line.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::kinds::Kind;
use crate::model::resource::Resource;
use crate::node::{NodeSet, identity, seat_of};

/// What callers of the same line have in common: they exclude each other, and would be given the
/// same keys on the same nodes. Callers that want one of several locks have the keys of all of them.
#[derive(Clone)]
pub(crate) struct LineKey {
    pub(crate) keys: Resource,
    /// Callers of different kinds stand in lines of their own. Which of them goes first is for the nodes to say.
    pub(crate) kind: Kind,
    pub(crate) nodes: NodeSet,
}

impl PartialEq for LineKey {
    /// The order of the nodes does not matter.
    fn eq(&self, other: &Self) -> bool {
        let is_same_set = || {
            let has = |node| seat_of(&other.nodes, node).is_some();
            self.nodes.len() == other.nodes.len() && self.nodes.iter().all(has)
        };
        let is_alike = self.kind == other.kind && self.keys == other.keys;
        is_alike && (Arc::ptr_eq(&self.nodes, &other.nodes) || is_same_set())
    }
}

impl Eq for LineKey {}

impl Hash for LineKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.keys.hash(state);
        self.kind.hash(state);
        let sum = |sum: usize, node| sum.wrapping_add(identity(node));
        state.write_usize(self.nodes.iter().fold(0, sum));
    }
}
