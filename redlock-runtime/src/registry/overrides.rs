//! The parameters of single functions, above those of their attributes.

use redlock_core::NodeSet;

use crate::parameters::LockOptions;

use crate::site::{Site, SourceLocation};

/// The parameters that override the attribute of one function.
pub(crate) struct Overriding {
    pub(crate) place: SourceLocation,
    pub(crate) options: LockOptions,
    pub(crate) pools: Option<Vec<String>>,
}

/// What is above the attributes of some functions. Looked at by every call of an annotated function.
pub(crate) struct Overrides {
    /// Ordered by place. By the place and not the address: a generic function may have several `Site`s.
    by_place: Vec<(SourceLocation, Override)>,
}

pub(crate) struct Override {
    pub(crate) options: LockOptions,
    /// In the place of what the attribute names.
    pub(crate) nodes: Option<NodeSet>,
}

impl Overrides {
    /// With the nodes of pools, as `nodes` knows them.
    pub(crate) fn new(
        overriding: Vec<Overriding>,
        mut nodes: impl FnMut(&[String]) -> Option<NodeSet>,
    ) -> Self {
        let mut by_place: Vec<_> = overriding
            .into_iter()
            .map(|it| {
                let over = Override {
                    options: it.options,
                    nodes: it.pools.as_deref().and_then(&mut nodes),
                };
                (it.place, over)
            })
            .collect();
        by_place.sort_by_key(|(place, _)| *place);
        Self { by_place }
    }

    pub(crate) fn of(&self, site: Option<&Site>) -> Option<&Override> {
        if self.by_place.is_empty() {
            return None;
        }
        let place = site?.place();
        let found = self
            .by_place
            .binary_search_by_key(&place, |(place, _)| *place);
        found.ok().map(|index| &self.by_place[index].1)
    }
}
