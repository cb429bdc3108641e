//! The result of phase two: all that the expansion needs, checked, in plain values.

use std::time::Duration;

use proc_macro2::TokenStream;
use syn::{Expr, Ident, LitStr};

use crate::captured::Captured;
use crate::parameters::{Key, Variant};

/// The parameters of the attribute. A parameter that is left out emits nothing, so that the runtime
/// can tell it from a parameter that repeats the default.
pub(crate) struct Plan {
    /// The runtime's path: `::redlock_runtime` unless `crate = …` names another.
    pub runtime: TokenStream,
    pub resource: Resource,
    pub note: Option<Note>,
    /// The parameters for which the runtime has a setter.
    pub settings: Settings,
    pub if_locked: Option<IfLocked>,
    pub guard: Option<Ident>,
    /// The arguments that the body captures, so that they are dropped before the release.
    pub captured: Vec<Captured>,
}

/// The values of parameters, in the order of the table.
pub(crate) struct Settings(pub Vec<(Key, Setting)>);

/// The value of a parameter: a part of the site, or an expression that is evaluated at the call.
pub(crate) enum Setting {
    Literal(Value),
    Expression(Expr),
}

/// A value that is known at compile time, to the macro or to rustc.
pub(crate) enum Value {
    Time(Duration),
    Count(u32),
    Fraction(f64),
    Flag(bool),
    /// The variant that a word names.
    Variant(Variant),
    /// The same as a path, for rustc to resolve.
    Path(Expr),
    /// A string, or an expression that is a constant.
    Text(Expr),
    /// An array of such, or a constant.
    Names(Expr),
}

impl Settings {
    pub(crate) fn get(&self, key: Key) -> Option<&Setting> {
        let found = self.0.iter().find(|(it, _)| *it == key);
        found.map(|(_, setting)| setting)
    }

    /// The value of a parameter, if it is a constant duration.
    pub(crate) fn time(&self, key: Key) -> Option<Duration> {
        match self.get(key)? {
            Setting::Literal(Value::Time(time)) => Some(*time),
            _ => None,
        }
    }

    /// The value of a parameter, if it is a constant count.
    pub(crate) fn count(&self, key: Key) -> Option<u32> {
        match self.get(key)? {
            Setting::Literal(Value::Count(count)) => Some(*count),
            _ => None,
        }
    }

    /// True if the value of a parameter is the constant `true`.
    pub(crate) fn is_true(&self, key: Key) -> bool {
        matches!(self.get(key), Some(Setting::Literal(Value::Flag(true))))
    }

    /// The constant values.
    pub(crate) fn literals(&self) -> impl Iterator<Item = (Key, &Value)> {
        self.0.iter().filter_map(|(key, setting)| match setting {
            Setting::Literal(value) => Some((*key, value)),
            Setting::Expression(_) => None,
        })
    }

    /// The values that are known only at the call.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = (Key, &Expr)> {
        self.0.iter().filter_map(|(key, setting)| match setting {
            Setting::Literal(_) => None,
            Setting::Expression(value) => Some((*key, value)),
        })
    }
}

/// The name of the lock.
pub(crate) enum Resource {
    Template(Template),
    /// Several names, locked all or none.
    All(Vec<Template>),
    /// An expression of a type that is `Into<Resource>`.
    Expression(Expr),
}

/// What people are told of the holder.
pub(crate) enum Note {
    Template(Template),
    /// An expression of a type that is `Display`.
    Expression(Expr),
}

/// A literal for `format_args!`.
pub(crate) struct Template {
    /// The literal as the user wrote it. The site shows it.
    pub written: LitStr,
    /// The same literal, or a new one if placeholders had to be renamed: dotted ones and parts.
    pub format: LitStr,
    /// `name = value` for each renamed placeholder.
    pub arguments: Vec<Argument>,
}

/// The value of a placeholder that `format_args!` cannot take as the user wrote it.
pub(crate) struct Argument {
    pub name: Ident,
    pub value: TokenStream,
    /// `{name:part}`.
    pub is_part: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfLocked {
    Error,
    Skip,
}
