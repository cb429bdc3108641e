//! The presets of the configuration.

use std::collections::BTreeMap;

use redlock_core::NodeSet;
use redlock_core::error::Invalid;

use crate::config::SiteConfig;
use crate::error::LockErrorKind;
use crate::parameters::LockOptions;
use crate::text::{Name, did_you_mean};

/// The presets by name.
pub(crate) struct Presets(BTreeMap<String, Preset>);

pub(crate) struct Preset {
    pub(crate) options: LockOptions,
    /// The nodes of the preset's pools, for a lock that names no pools itself.
    pub(crate) nodes: Option<NodeSet>,
}

impl Presets {
    /// Makes the presets. `nodes` finds the nodes of named pools.
    pub(crate) fn new(
        presets: BTreeMap<String, SiteConfig>,
        mut nodes: impl FnMut(&[String]) -> Option<NodeSet>,
    ) -> Self {
        let presets = presets.into_iter().map(|(name, it)| {
            let nodes = it.pools.as_deref().and_then(&mut nodes);
            let options = it.options;
            (name, Preset { options, nodes })
        });
        Self(presets.collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Preset> {
        self.0.get(name)
    }

    /// The preset that a lock names, if it names one.
    ///
    /// # Errors
    /// If there is no such preset.
    pub(crate) fn named(&self, name: Option<&str>) -> Result<Option<&Preset>, LockErrorKind> {
        let Some(name) = name else { return Ok(None) };
        match self.0.get(name) {
            Some(preset) => Ok(Some(preset)),
            None => Err(LockErrorKind::Invalid(Invalid::new(unknown(name, &self.0)))),
        }
    }
}

/// The error for a name that no preset has.
pub(crate) fn unknown<T>(name: &str, presets: &BTreeMap<String, T>) -> String {
    format!(
        "the preset `{}` is not configured{}",
        Name(name),
        did_you_mean(name, presets.keys().map(String::as_str)),
    )
}
