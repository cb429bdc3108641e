//! Shows names that come from outside, and suggests corrections.

mod name;
mod suggest;

pub(crate) use name::{NamedMap, ShownName, shown_text};
pub(crate) use suggest::did_you_mean;
