//! The cases that are measured.

mod compile_time;
mod contended;
mod frozen;
mod kinds;
mod renewal;
mod uncontended;
mod wrapper;
mod writer;

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

pub use compile_time::compile_time;
pub use contended::{fenced_hot, hand_over, hot_key, hot_key_processes, permits, shares, tuning};
pub use frozen::frozen;
pub use kinds::kinds;
pub use renewal::renewal;
pub use uncontended::{fenced, uncontended};
pub use wrapper::wrapper;
pub use writer::kinds_writer;

/// The connect timeout of our nodes if all servers answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Returns `1 caller`, `16 callers`.
fn case(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A kind of tokio's runtime.
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
