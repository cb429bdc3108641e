//! The locks of other systems. Each client is a separate program, which obeys `measure` as
//! `redlock-interop-tests` says.

mod outcome;
mod postgres;
mod serve;
mod system;

mod etcd;

pub(crate) use etcd::Etcd;
pub(crate) use outcome::{Measured, Outcome};
pub(crate) use postgres::Postgres;
pub use serve::{Locks, Program, program, serve, serve_on_redis};
pub(crate) use system::{PROMISES, Servers, System};
