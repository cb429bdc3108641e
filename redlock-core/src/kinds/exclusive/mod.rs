//! Locks that one holder has at a time: one key, or several at once.

mod acquire;
pub(super) mod extend;
mod kind;
mod release;

use crate::node::script::Script;

pub(crate) use acquire::{ACQUIRE_ALL, PTTL, SET};
pub(crate) use extend::{EXTEND, RESTORE};
pub(crate) use kind::{Exclusive, done, extend, extended, plain, release, restore};
pub(crate) use release::{RELEASE, RELEASE_EACH, RELEASE_MANY};

pub(crate) static SCRIPTS: &[&Script] = &[
    &SET,
    &PTTL,
    &ACQUIRE_ALL,
    &EXTEND,
    &RESTORE,
    &RELEASE,
    &RELEASE_MANY,
    &RELEASE_EACH,
];
