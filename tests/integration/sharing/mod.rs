//! Readers and writers on real servers.

mod cancellation;
mod cluster;
mod differential;
mod entries;
mod exclusion;
mod fencing;
mod fixture;
mod waiting;
