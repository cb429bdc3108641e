//! Phase two's result: everything the expansion needs, checked, in plain values.

use std::time::Duration;

use proc_macro2::TokenStream;
use syn::{Expr, Ident, LitStr};

use crate::captured::Captured;

/// What the attribute asks for. A parameter it leaves out is `None` and emits nothing, so that
/// the runtime can tell it from one that repeats the default.
pub(crate) struct Plan {
    /// The runtime's path, `::redlock_runtime` unless `crate = …` says otherwise.
    pub runtime: TokenStream,
    pub resource: Resource,
    pub ttl: Option<Setting<Duration>>,
    pub pools: Option<Vec<LitStr>>,
    pub retry_count: Option<Setting<u32>>,
    pub wait: Option<Setting<Wait>>,
    pub retry_delay: Option<Setting<Duration>>,
    pub clock_drift_factor: Option<Setting<f64>>,
    pub min_validity: Option<Setting<MinValidity>>,
    pub max_hold: Option<Setting<MaxHold>>,
    pub min_hold: Option<Setting<Duration>>,
    pub fencing: Option<bool>,
    pub on_lost: Option<OnLost>,
    pub on_cancel: Option<OnCancel>,
    pub if_locked: Option<IfLocked>,
    pub guard: Option<Ident>,
    pub name: Option<LitStr>,
    /// What the body takes with it, to be dropped before the lock.
    pub captured: Vec<Captured>,
}

/// A parameter's value: known now, or only at the call.
pub(crate) enum Setting<T> {
    Literal(T),
    Expression(Expr),
}

impl<T> Setting<T> {
    fn is_expression(&self) -> bool {
        matches!(self, Self::Expression(_))
    }
}

impl Plan {
    /// The parameters whose values only the call knows, for the site to name.
    pub(crate) fn at_call(&self) -> Vec<&'static str> {
        fn is_at_call<T>(setting: Option<&Setting<T>>) -> bool {
            setting.is_some_and(Setting::is_expression)
        }
        let settings = [
            ("ttl", is_at_call(self.ttl.as_ref())),
            ("retry_count", is_at_call(self.retry_count.as_ref())),
            ("wait", is_at_call(self.wait.as_ref())),
            ("retry_delay", is_at_call(self.retry_delay.as_ref())),
            (
                "clock_drift_factor",
                is_at_call(self.clock_drift_factor.as_ref()),
            ),
            ("min_validity", is_at_call(self.min_validity.as_ref())),
            ("max_hold", is_at_call(self.max_hold.as_ref())),
            ("min_hold", is_at_call(self.min_hold.as_ref())),
        ];
        let at_call = settings.into_iter().filter(|(_, is_at_call)| *is_at_call);
        at_call.map(|(name, _)| name).collect()
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

/// What an acquisition has to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MinValidity {
    Time(Duration),
    /// Of the ttl.
    Fraction(f64),
}

/// How long to keep trying.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    Time(Duration),
    Forever,
}

/// How long the lock is renewed for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MaxHold {
    Time(Duration),
    Unlimited,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnCancel {
    Release,
    Expire,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnLost {
    Cancel,
    Continue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfLocked {
    Error,
    Skip,
}
