//! The parameters of locks as one source has them, for all locks or for one site.

use serde::Deserialize;

use super::site::SiteConfig;
use crate::parameters::prelude::*;
use crate::parameters::{Value, given};

/// The keys, and the struct that has a field for each.
macro_rules! layer {
    (() $(
        $(#[$doc:meta])+
        $name:ident: $type:ty
            $(, from $from:ty)? $(, default $default:expr)? $(, instead of $other:ident)?
            $(, kind $kind:expr)?;
    )+) => {
        /// The parameters that locks have defaults for, in `[defaults]`.
        pub(super) const PARAMETERS: &[&str] = &[$( stringify!($name) ),+];

        /// The keys of a single function, in `[sites."…"]`.
        pub(super) const OF_A_SITE: &[&str] = &["pools", $( stringify!($name) ),+];

        /// `[defaults]`, or one of `[sites]`. `keys.rs` refuses `pools` in `[defaults]`.
        #[derive(Debug, Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub(super) struct Layer {
            pools: Option<Vec<String>>,
            $(
                #[serde(deserialize_with = "given")]
                $name: Option<$type>,
            )+
        }

        impl Layer {
            /// Sets `key`, which is one of this layer's, to the text of a variable.
            ///
            /// # Errors
            /// The values that `key` takes. `value` is not repeated.
            pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
                match key {
                    "pools" => self.pools = Some(names(value)),
                    $( stringify!($name) => self.$name = Some(Value::parse(value)?), )+
                    _ => return Err("there is no such parameter".to_owned()),
                }
                Ok(())
            }

            pub(super) fn options(&self) -> LockOptions {
                let mut options = LockOptions::NONE;
                $( options.$name = self.$name; )+
                options
            }
        }
    };
}

for_each_parameter!(layer!());

impl Layer {
    /// Whether it sets both of two parameters that answer the same question.
    pub(super) fn contradicts_itself(&self) -> bool {
        self.wait.is_some() && self.retry_count.is_some()
    }
}

impl From<Layer> for SiteConfig {
    fn from(layer: Layer) -> Self {
        Self {
            options: layer.options(),
            pools: layer.pools,
        }
    }
}

/// `a, b,c`
pub(super) fn names(value: &str) -> Vec<String> {
    let names = value.split(',').map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}
