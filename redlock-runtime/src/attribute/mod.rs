//! The functions and traits that the expansion of the attribute calls.

pub(crate) mod capture;
pub(crate) mod from_lock_error;
pub(crate) mod from_skip;
pub(crate) mod handler_response;
pub(crate) mod names_lock;
pub(crate) mod returned;
pub(crate) mod time;
