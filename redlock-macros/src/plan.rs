//! Phase two's result: everything the expansion needs, checked, in plain values.

use std::time::Duration;

use proc_macro2::TokenStream;
use syn::{Expr, Ident, LitStr};

use crate::captured::Captured;
use crate::parameters::{Key, Variant};

/// What the attribute asks for. A parameter it leaves out emits nothing, so that the runtime can
/// tell it from one that repeats the default.
pub(crate) struct Plan {
    /// The runtime's path, `::redlock_runtime` unless `crate = …` says otherwise.
    pub runtime: TokenStream,
    pub resource: Resource,
    /// The parameters that the runtime has a setter for.
    pub settings: Settings,
    pub if_locked: Option<IfLocked>,
    pub guard: Option<Ident>,
    /// What the body takes with it, to be dropped before the lock.
    pub captured: Vec<Captured>,
}

/// The values of parameters, in the order of the table.
pub(crate) struct Settings(pub Vec<(Key, Setting)>);

/// A parameter's value: known now, or only at the call.
pub(crate) enum Setting {
    Literal(Value),
    Expression(Expr),
}

/// A value that is known when the function is compiled.
pub(crate) enum Value {
    Time(Duration),
    Count(u32),
    Fraction(f64),
    Flag(bool),
    /// What a word stands for.
    Variant(Variant),
    Text(LitStr),
    Names(Vec<LitStr>),
}

impl Settings {
    pub(crate) fn get(&self, key: Key) -> Option<&Setting> {
        let found = self.0.iter().find(|(it, _)| *it == key);
        found.map(|(_, setting)| setting)
    }

    /// The value of a parameter, if it is a duration that is known now.
    pub(crate) fn time(&self, key: Key) -> Option<Duration> {
        match self.get(key)? {
            Setting::Literal(Value::Time(time)) => Some(*time),
            _ => None,
        }
    }

    /// The values that are known now.
    pub(crate) fn literals(&self) -> impl Iterator<Item = (Key, &Value)> {
        self.0.iter().filter_map(|(key, setting)| match setting {
            Setting::Literal(value) => Some((*key, value)),
            Setting::Expression(_) => None,
        })
    }

    /// The values that only the call knows.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = (Key, &Expr)> {
        self.0.iter().filter_map(|(key, setting)| match setting {
            Setting::Literal(_) => None,
            Setting::Expression(value) => Some((*key, value)),
        })
    }
}

/// What names the lock.
pub(crate) enum Resource {
    Template(Template),
    /// Several, to lock all or none.
    All(Vec<Template>),
    /// Whatever is `Into<Resource>`.
    Expression(Expr),
}

/// A literal for `format_args!`.
pub(crate) struct Template {
    /// As the user wrote it, which is what the site shows.
    pub written: LitStr,
    /// The same literal, or a new one where dotted placeholders had to be renamed.
    pub format: LitStr,
    /// `name = value` for each renamed placeholder.
    pub arguments: Vec<(Ident, TokenStream)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfLocked {
    Error,
    Skip,
}
