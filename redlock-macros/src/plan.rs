//! The result of phase two: checked, plain values for the expansion.

use std::time::Duration;

use proc_macro2::TokenStream;
use syn::{Expr, Ident, LitStr};

use crate::argument_capture::Captured;
use crate::parameters::{Key, Variant};

/// The checked parameters of the attribute.
/// A parameter that is left out emits nothing, so the runtime can tell a missing parameter from an explicit default.
pub(crate) struct LockPlan {
    /// The runtime's path: the value of `crate`, or `::redlock_runtime`.
    pub runtime: TokenStream,
    pub resource: ResourcePlan,
    /// A text about the holder, for people.
    pub note: Option<TextPlan>,
    /// The parameters for which the runtime has a setter.
    pub values: PlainValues,
    /// True for `if_locked = "skip"`.
    pub skips: bool,
    pub guard: Option<Ident>,
    /// The arguments that the body captures, to drop them before the release.
    pub captured: Vec<Captured>,
}

impl LockPlan {
    /// True if a value is an expression or uses a field.
    /// An expression may move a part of an argument. For a field, the function would keep a copy of its struct.
    pub(crate) fn uses_fields_or_expressions(&self) -> bool {
        let has_renamed = |template: &Template| !template.arguments.is_empty();
        let is_one = |text: &TextPlan| match text {
            TextPlan::Template(template) => has_renamed(template),
            TextPlan::Expression(_) => true,
        };
        let of_resource = match &self.resource {
            ResourcePlan::One(text) => is_one(text),
            ResourcePlan::All(templates) => templates.iter().any(has_renamed),
        };
        let of_note = self.note.as_ref().is_some_and(is_one);
        of_resource || of_note || self.values.expressions().next().is_some()
    }
}

/// The values of parameters, in the order of the table.
pub(crate) struct PlainValues(pub Vec<(Key, PlainValue)>);

/// The value of a parameter.
pub(crate) enum PlainValue {
    Time(Duration),
    Count(u32),
    Fraction(f64),
    Flag(bool),
    /// The variant that a word names.
    Variant(Variant),
    /// A text or a list of texts, as a literal or as a constant expression.
    Constant(Expr),
    /// An expression that is evaluated at the call.
    Expression(Expr),
}

impl PlainValues {
    pub(crate) fn get(&self, key: Key) -> Option<&PlainValue> {
        let found = self.0.iter().find(|(it, _)| *it == key);
        found.map(|(_, value)| value)
    }

    /// True if the attribute has the literal `fencing = true`, so that each lock has a fencing token.
    pub(crate) fn is_fenced(&self) -> bool {
        matches!(self.get(Key::Fencing), Some(PlainValue::Flag(true)))
    }

    /// Returns the duration of a parameter, if it is known at compile time.
    pub(crate) fn time(&self, key: Key) -> Option<Duration> {
        match self.get(key)? {
            PlainValue::Time(time) => Some(*time),
            _ => None,
        }
    }

    /// Returns the values that are known at compile time, to the macro or to rustc.
    pub(crate) fn constants(&self) -> impl Iterator<Item = (Key, &PlainValue)> {
        let constants = |value: &PlainValue| !matches!(value, PlainValue::Expression(_));
        let all = self.0.iter().map(|(key, value)| (*key, value));
        all.filter(move |(_, value)| constants(value))
    }

    /// Returns the values that are known only at the call.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = (Key, &Expr)> {
        self.0.iter().filter_map(|(key, value)| match value {
            PlainValue::Expression(value) => Some((*key, value)),
            _ => None,
        })
    }
}

/// The name of the lock, or its names.
pub(crate) enum ResourcePlan {
    One(TextPlan),
    /// Several names: the call locks all of them, or none.
    All(Vec<Template>),
}

impl ResourcePlan {
    /// True if the attribute has more than one name.
    pub(crate) fn has_several_names(&self) -> bool {
        matches!(self, Self::All(names) if names.len() > 1)
    }
}

/// The text of a resource or of a note.
pub(crate) enum TextPlan {
    Template(Template),
    /// An expression: of a resource, its type is `Into<Resource>`; of a note, `Display`.
    Expression(Expr),
}

/// A literal for `format_args!`.
pub(crate) struct Template {
    /// The literal as the user wrote it. The site shows it.
    pub written: LitStr,
    /// The literal for `format_args!`: new if dotted placeholders or parts were renamed, else `written`.
    pub format: LitStr,
    /// `name = value` for each renamed placeholder.
    pub arguments: Vec<FormatArgument>,
}

/// The argument that replaces a dotted placeholder or a part.
pub(crate) struct FormatArgument {
    pub name: Ident,
    pub value: TokenStream,
    /// True for `{name:part}`.
    pub is_part: bool,
}
