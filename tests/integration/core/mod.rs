//! The algorithm on real servers: what is on the nodes while a lease is held, and what is left
//! when it is not.

mod batches;
mod bodies;
mod bytes;
mod connections;
pub(crate) mod contention;
mod fencing;
pub(crate) mod fixture;
mod force_release;
mod full_server;
mod health;
mod home;
mod joining;
pub(crate) mod kinds;
mod leases;

mod line;
mod managed;
mod once_per;
mod owed;
mod passwords;
mod pauses;
mod peek;
mod permits;
mod put_back;
mod renewal;
mod servers;
mod sets;
pub(crate) mod still_clock;
mod wakeups;
