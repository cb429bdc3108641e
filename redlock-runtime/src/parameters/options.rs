//! One layer of parameters, and the parameters with everything decided.
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
        /// The parameters of a lock that are set: for [`LockBuilder::options`], for the defaults of all
        /// locks ([`Config::defaults`]), and for one annotated function ([`Config::site`]). A
        /// setter has the parameter's name in the attribute and in the file.
        ///
        /// A parameter that is not set comes from the layer below. From the top these are the
        /// configuration's `[sites."…"]`, the attribute or the calls on a [`LockBuilder`], the
        /// configuration's `[defaults]`, and the built-in values, which each setter names.
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

        /// The parameters of a lock, with everything decided. Either `retry_count` or `wait` has a
        /// value.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) struct SiteParameters {
            $( pub(crate) $name: decided_type!($type $(, default $default)? $(, instead of $other)?), )+
            /// True if a call is skipped while another caller holds the lock.
            pub(crate) skips: bool,
        }

        impl LockOptions {
            /// Nothing is set.
            pub(crate) const NONE: Self = Self { $( $name: None, )+ };

            /// The lowest layer.
            const BUILT_IN: Self = Self { $( $name: built_in!($($default)?), )+ };

            /// Returns this layer above `lower`.
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

            /// Sets the parameter `key` to the value that a source of the configuration has.
            ///
            /// # Errors
            /// The forms of the value.
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

            /// Returns the parameters that answer the same question as `name`, which is one of them.
            pub(crate) fn answers(name: &str) -> impl Iterator<Item = &str> {
                let other = match name {
                    $($( stringify!($name) => Some(stringify!($other)), )?)+
                    _ => None,
                };
                [Some(name), other].into_iter().flatten()
            }

            /// Returns this layer above the built-in values.
            pub(crate) fn decided(self, skips: bool) -> SiteParameters {
                let all = self.above(Self::BUILT_IN);
                SiteParameters {
                    $( $name: decided!(all.$name $(, default $default)? $(, instead of $other)?), )+
                    skips,
                }
            }
        }

        impl SiteParameters {
            /// Returns the kind that each parameter asks for which asks for one, by the parameter's name.
            pub(crate) fn kinds(&self) -> Vec<(&'static str, Kind)> {
                let kinds = [ $( $( (stringify!($name), self.$name.map($kind)), )? )+ ];
                let set = kinds.into_iter().filter_map(|(name, kind)| Some((name, kind?)));
                set.collect()
            }

            /// Returns the parameters that have a value, as the file has it.
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

/// Selects the type of a decided parameter. A parameter with a default has a value, unless another one replaces it.
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
    /// Returns options that set nothing.
    ///
    /// ```
    /// use redlock_runtime::parameters::LockOptions;
    /// assert_eq!(LockOptions::new(), LockOptions::default());
    /// ```
    pub fn new() -> Self {
        Self::NONE
    }
}

for_each_parameter!(setters!(LockOptions, it => it));
