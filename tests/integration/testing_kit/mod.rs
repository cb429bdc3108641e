//! The kit that users test with.

mod assertions;
mod elsewhere;
mod frameworks;
mod guide;
mod kinds;
mod nodes;
mod readme;
mod registries;
mod time;
mod waiting;
