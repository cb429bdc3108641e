//! The kit that users test with. What its documentation shows is tested there.

mod assertions;
mod elsewhere;
mod guide;
mod readme;
mod registries;
mod time;
mod waiting;
