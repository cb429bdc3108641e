//! The parameters of single functions, above those of their attributes.

use redlock_core::NodeSet;

use crate::parameters::LockOptions;

use crate::site::Site;

/// The parameters that override the attribute of one function.
pub(crate) struct Overriding {
    pub(crate) site: &'static Site,
    pub(crate) options: LockOptions,
    pub(crate) pools: Option<Vec<String>>,
}

/// The overrides of the attributes of some functions. Every call of an annotated function reads them.
pub(crate) struct Overrides {
    /// Ordered by the address of the site.
    by_site: Vec<(usize, Override)>,
}

pub(crate) struct Override {
    pub(crate) options: LockOptions,
    /// The nodes that replace those that the attribute names.
    pub(crate) nodes: Option<NodeSet>,
}

impl Overrides {
    /// The overrides, with the pools' names resolved by `nodes`.
    pub(crate) fn new(
        overriding: Vec<Overriding>,
        mut nodes: impl FnMut(&[String]) -> Option<NodeSet>,
    ) -> Self {
        let mut by_site: Vec<_> = overriding
            .into_iter()
            .map(|it| {
                let over = Override {
                    options: it.options,
                    nodes: it.pools.as_deref().and_then(&mut nodes),
                };
                (it.site.address(), over)
            })
            .collect();
        by_site.sort_by_key(|(address, _)| *address);
        Self { by_site }
    }

    pub(crate) fn of(&self, site: &'static Site) -> Option<&Override> {
        let wanted = site.address();
        let by_site = &self.by_site;
        let found = by_site.binary_search_by_key(&wanted, |(address, _)| *address);
        found.ok().map(|index| &by_site[index].1)
    }
}
