//! Readers and writers on real servers.

mod cancellation;
mod cluster;
mod entries;
mod exclusion;
mod fencing;
mod fixture;
mod turns;
mod waiting;
