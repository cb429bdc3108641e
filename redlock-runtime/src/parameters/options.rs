//! The layers of parameters, and the parameters that result from all layers.
#![doc = include_str!("options.md")]

use super::prelude::*;
use super::{RawValue, parse};

// The row `retry_delay: Duration, default DEFAULT_RETRY_DELAY;` becomes
//
//     struct LockOptions { retry_delay: Option<Duration>, … }
//     LockOptions::above:   retry_delay: self.retry_delay.or(lower.retry_delay),
//     LockOptions::set:     "retry_delay" => self.retry_delay = Some(parse(raw)?),
//     LockOptions::decided: retry_delay: all.retry_delay.unwrap_or(DEFAULT_RETRY_DELAY),
//     struct SiteParameters { retry_delay: Duration, … } // `Option<Duration>` without a default
//     SiteParameters::to_toml: ("retry_delay", self.retry_delay.to_toml()), if it has a value
//
// `instead of wait` adds `lower.wait = None` to `above`, and `self.wait = None` to `set`.

/// Defines the structs that have a field for each parameter.
macro_rules! options {
    (() $(
        $(#[$doc:meta])+
        $name:ident: $type:ty
            $(, from $from:ty)? $(, default $default:expr)? $(, instead of $other:ident)?
            $(, kind $kind:expr)?;
    )+) => {
        /// A set of parameters: for one lock ([`LockBuilder::options`]), for all locks ([`Config::defaults`]), or for one
        /// annotated function ([`Config::site`]). A setter has the parameter's name in the attribute and in the file.
        ///
        /// A parameter that is left out comes from the next lower layer. From top to bottom, the layers are: the
        /// configuration's `[sites."…"]`; the attribute, or the calls on a [`LockBuilder`]; the configuration's
        /// `[defaults]`; the built-in values, which the setters name.
        ///
        /// # Example: locks that wait by default, and a lock that does not
        /// ```
        /// use std::time::Duration;
        /// use redlock_runtime::parameters::LockOptions;
        /// use redlock_runtime::Config;
        ///
        /// let patient = LockOptions::new().wait(Duration::from_secs(5));
        /// let config = Config::new()
        ///     .pool("a", "redis://10.0.0.1:6379")
        ///     .defaults(patient.ttl(Duration::from_secs(30)))
        ///     .site("shop::orders::charge", LockOptions::new().retry_count(0));
        /// # assert!(!format!("{config:?}").is_empty());
        /// ```
        ///
        /// [`Config::defaults`]: crate::Config::defaults
        /// [`Config::site`]: crate::Config::site
        /// [`LockBuilder`]: crate::LockBuilder
        /// [`LockBuilder::options`]: crate::LockBuilder::options
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[must_use]
        pub struct LockOptions {
            $( pub(crate) $name: Option<$type>, )+
        }

        /// The parameters of a lock that result from all layers. Either `retry_count` or `wait` has a value.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) struct SiteParameters {
            $( pub(crate) $name: decided_type!($type $(, default $default)? $(, instead of $other)?), )+
            /// True if a call is skipped while another caller holds the lock.
            pub(crate) skips: bool,
        }

        impl LockOptions {
            /// The empty set of parameters.
            pub(crate) const NONE: Self = Self { $( $name: None, )+ };

            /// The lowest layer, with the built-in values.
            const BUILT_IN: Self = Self { $( $name: built_in!($($default)?), )+ };

            /// Merges two layers. The values of this layer override those of `lower`.
            pub(crate) fn above(self, mut lower: Self) -> Self {
                $($(
                    if self.$name.is_some() {
                        lower.$other = None;
                    }
                )?)+
                Self { $( $name: self.$name.or(lower.$name), )+ }
            }

            /// Returns the names of the parameters that are set.
            pub(crate) fn names(&self) -> Vec<&'static str> {
                let names = [ $( self.$name.map(|_| stringify!($name)), )+ ];
                names.into_iter().flatten().collect()
            }

            /// The names of all parameters.
            pub(crate) const PARAMETER_NAMES: &[&'static str] = &[ $( stringify!($name), )+ ];

            /// Sets the parameter `key` to a source's value.
            ///
            /// # Errors
            /// Returns a text that names the expected values, or says that no parameter has this name.
            pub(crate) fn set(&mut self, key: &str, raw: &RawValue<'_>) -> Result<(), String> {
                match key {
                    $( stringify!($name) => {
                        self.$name = Some(parse(raw)?);
                        $( self.$other = None; )?
                    } )+
                    _ => return Err("there is no such parameter".to_owned()),
                }
                Ok(())
            }

            /// Returns `name`, and the parameter that answers the same question, if there is one.
            pub(crate) fn answers(name: &str) -> impl Iterator<Item = &str> {
                let other = match name {
                    $($( stringify!($name) => Some(stringify!($other)), )?)+
                    _ => None,
                };
                [Some(name), other].into_iter().flatten()
            }

            /// Decides all parameters: those that this layer leaves out get the built-in values.
            pub(crate) fn decided(self, skips: bool) -> SiteParameters {
                let all = self.above(Self::BUILT_IN);
                SiteParameters {
                    $( $name: decided!(all.$name $(, default $default)? $(, instead of $other)?), )+
                    skips,
                }
            }
        }

        impl SiteParameters {
            /// Returns the parameters that ask for a kind of lock, each with its kind.
            pub(crate) fn kinds(&self) -> Vec<(&'static str, Kind)> {
                let kinds = [ $( $( (stringify!($name), self.$name.map($kind)), )? )+ ];
                let set = kinds.into_iter().filter_map(|(name, kind)| Some((name, kind?)));
                set.collect()
            }

            /// Returns the parameters that have a value, in the form of the file.
            pub(crate) fn to_toml(self) -> Vec<(&'static str, String)> {
                let values = [ $({
                    let value = Option::<$type>::from(self.$name);
                    let value = value.and_then(super::ConfigValue::to_toml);
                    value.map(|value| (stringify!($name), value))
                }, )+ ];
                values.into_iter().flatten().collect()
            }
        }
    };
}

macro_rules! built_in {
    () => {
        None
    };
    ($default:expr) => {
        Some($default)
    };
}

/// The type of a decided parameter. With a default, a value is certain, unless another parameter may be set instead.
macro_rules! decided_type {
    ($type:ty, default $default:expr) => { $type };
    ($type:ty $(, default $default:expr)? $(, instead of $other:ident)?) => { Option<$type> };
}

macro_rules! decided {
    ($all:ident.$name:ident, default $default:expr) => {
        $all.$name.unwrap_or($default)
    };
    ($all:ident.$name:ident $(, default $default:expr)? $(, instead of $other:ident)?) => {
        $all.$name
    };
}

for_each_parameter!(options!());

impl LockOptions {
    /// Returns an empty set of parameters.
    pub fn new() -> Self {
        Self::NONE
    }
}

for_each_parameter!(setters!(LockOptions, it => it));
