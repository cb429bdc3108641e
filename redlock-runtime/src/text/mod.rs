//! Names from outside, and how texts show them.

mod name;
mod path;
mod suggest;

pub(crate) use name::{Name, NamedMap, Names, spelled};
pub(crate) use path::function_path;
pub(crate) use suggest::{did_you_mean, nearest};
