//! The cases that are measured.

mod compile_time;
mod contended;
mod frozen;
mod kinds;
mod peers;
mod renewal;
mod uncontended;
mod wrapper;

use tokio::runtime::{Builder, Runtime};

pub use compile_time::compile_time;
pub use contended::{hand_over, hot_key, hot_key_processes, permits, shares, tuning};
pub use frozen::frozen;
pub use kinds::{kinds, kinds_writer};
pub use peers::peers;
pub use renewal::renewal;
pub use uncontended::uncontended;
pub use wrapper::wrapper;

/// Which runtime of tokio's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flavor {
    MultiThread,
    CurrentThread,
}

impl Flavor {
    const fn name(self) -> &'static str {
        match self {
            Self::MultiThread => "multi_thread",
            Self::CurrentThread => "current_thread",
        }
    }
}

fn runtime(flavor: Flavor) -> Runtime {
    match flavor {
        Flavor::MultiThread => Builder::new_multi_thread(),
        Flavor::CurrentThread => Builder::new_current_thread(),
    }
    .enable_all()
    .build()
    .expect("a tokio runtime")
}
