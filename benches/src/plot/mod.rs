//! Bars with whiskers, as SVG.

mod scale;
mod svg;

pub(crate) use scale::Scale;

use crate::contender::Kind;
use crate::stats::Spread;

/// Horizontal bars, in groups one below the other.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// What the axis counts, and what bar and whisker stand for.
    pub(crate) axis: String,
    pub(crate) scale: Scale,
    pub(crate) sets: Vec<Set>,
}

/// Bars that are to be compared with each other.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) bars: Vec<Bar>,
    /// A line that ours has to reach or must not cross, in the units of the axis, and what it says.
    pub(crate) line: Option<(f64, String)>,
}

/// A median, with the smallest and the largest round.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub(crate) who: String,
    pub(crate) role: Role,
    /// `None` where nothing was there to be measured.
    pub(crate) spread: Option<Spread>,
    /// What is written behind it.
    pub(crate) label: String,
}

/// What a bar is to the reader: which colour it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Ours,
    Peer,
    /// What can be reached at best.
    Limit,
}

impl Role {
    pub(crate) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Ours => Self::Ours,
            Kind::Rslock | Kind::WaitForAll | Kind::WaitForMajority => Self::Peer,
        }
    }
}

impl Bar {
    pub(crate) fn new(
        who: impl Into<String>,
        role: Role,
        spread: Option<Spread>,
        label: String,
    ) -> Self {
        Self {
            who: who.into(),
            role,
            spread,
            label,
        }
    }
}

impl Chart {
    pub(crate) fn new(title: &str, axis: &str, scale: Scale) -> Self {
        Self {
            title: title.to_owned(),
            axis: axis.to_owned(),
            scale,
            sets: Vec::new(),
        }
    }
}
