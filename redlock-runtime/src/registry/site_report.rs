//! Reports of annotated functions, with the parameters that they use.

use std::collections::BTreeMap;

use crate::parameters::LockOptions;
use crate::site::Site;

use super::RegistryShared;
use super::pools::pool_names_of;

/// An annotated function, with the parameters that it uses in one registry.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
/// for report in redlock.registry().sites() {
///     println!("{} on {:?}", report.site.name(), report.parameters["pools"].value);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SiteReport {
    /// The function and its attribute.
    pub site: &'static Site,
    /// The parameters of its locks, by their names. `pools` and `if_locked` are among them.
    pub parameters: BTreeMap<&'static str, ParameterReport>,
    /// The number of leases that calls of this function hold right now.
    pub held: usize,
}

/// A parameter of an annotated function, with its source: see [`SiteReport::parameters`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParameterReport {
    /// The value as `redlock.toml` writes it. `None` if each call computes its own.
    pub value: Option<String>,
    /// The layer that sets the value.
    pub layer: Layer,
}

/// The layer that sets a parameter's value: see [`ParameterReport::layer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layer {
    /// The part of the configuration that is for this function alone.
    Override,
    /// An expression in the attribute, which each call evaluates.
    Call,
    /// A literal in the attribute, or a constant that names the pools.
    Attribute,
    /// The `[defaults]` of the configuration.
    Defaults,
    /// The library's own value, because no other layer sets one.
    BuiltIn,
}

impl Layer {
    /// Returns `override`, `call`, `attribute`, `defaults` or `built in`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Call => "call",
            Self::Attribute => "attribute",
            Self::Defaults => "defaults",
            Self::BuiltIn => "built in",
        }
    }
}

impl SiteReport {
    /// Combines the layers as a call of `site` does.
    pub(super) fn new(registry: &RegistryShared, site: &'static Site, held: usize) -> Self {
        let over = registry.pools.overriding(site);
        let overriding = over.map_or(LockOptions::NONE, |over| over.options);
        let (attribute, defaults) = (site.own_options(), registry.defaults);
        let overridden = overriding.names();
        let decided = overriding
            .above(attribute)
            .above(defaults)
            .decided(site.skips);
        // An override takes precedence over the value of a call.
        let answered =
            |name, by: &[&str]| LockOptions::answers(name).any(|name| by.contains(&name));
        let at_call = site.parameters_at_call().iter().copied();
        let at_call: Vec<_> = at_call
            .filter(|name| !answered(name, &overridden))
            .collect();
        let said = [
            (Layer::Override, overridden),
            (Layer::Attribute, attribute.names()),
            (Layer::Defaults, defaults.names()),
        ];
        let layer = |name| {
            let found = said.iter().find(|(_, names)| names.contains(&name));
            found.map_or(Layer::BuiltIn, |(layer, _)| *layer)
        };
        let (pools, layer_of_pools) = match (over.and_then(|it| it.pools.as_ref()), site.pools()) {
            (Some(names), _) => (names.join(", "), Layer::Override),
            (None, Some(names)) => (names.join(", "), Layer::Attribute),
            (None, None) => {
                let defaults = pool_names_of(&registry.pools.default_set);
                (defaults.join(", "), Layer::Defaults)
            }
        };
        let (if_locked, layer_of_skipping) = if site.skips {
            ("skip", Layer::Attribute)
        } else {
            ("error", Layer::BuiltIn)
        };
        let written = decided.to_toml().into_iter();
        let known = written
            .filter(|(name, _)| !answered(name, &at_call))
            .map(|(name, value)| (name, Some(value), layer(name)))
            .chain([
                ("pools", Some(pools), layer_of_pools),
                ("if_locked", Some(if_locked.to_owned()), layer_of_skipping),
            ]);
        let at_call = at_call.iter().map(|&name| (name, None, Layer::Call));
        let parameters = known.chain(at_call);
        Self {
            site,
            parameters: parameters
                .map(|(name, value, layer)| (name, ParameterReport { value, layer }))
                .collect(),
            held,
        }
    }
}
