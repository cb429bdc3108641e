//! The functions and traits that the expansion of the attribute calls.

pub(crate) mod answer;
pub(crate) mod ask;
pub(crate) mod call;
pub(crate) mod capture;
pub(crate) mod from_lock_error;
pub(crate) mod from_skip;
pub(crate) mod returned;
pub(crate) mod run;
pub(crate) mod time;
pub(crate) mod way;
