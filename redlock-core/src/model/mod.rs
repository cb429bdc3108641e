//! The data of a request: the names to lock, the request itself, and the token of its owner.

pub(crate) mod request;
pub(crate) mod resource;
pub(crate) mod token;
