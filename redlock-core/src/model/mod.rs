//! The values of a request: the names to lock, the limits, the owner token. The room also has the parts that all error
//! texts and `Debug` texts share.

pub(crate) mod brief;
pub(crate) mod invalid;
pub(crate) mod last_run;
pub(crate) mod limits;
pub(crate) mod majority;
pub(crate) mod name;
pub(crate) mod note;
mod part;
pub(crate) mod resource;
pub(crate) mod shortage;
pub(crate) mod token;
