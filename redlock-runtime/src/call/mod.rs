//! Runs one call: its request, its acquisition, its body under the lease, its release.
//!
//! `call_state.rs` has the state machine, which is compiled once. `call_future.rs` has the future around it, which is
//! compiled for each body.

mod call_future;
mod call_state;
mod lease_run;
mod lease_slot;
mod request;

pub use call_future::{KeepsValueUntilRelease, ReturnRules, run_call};
pub(crate) use call_future::{MappedBody, result_rules};
pub use call_state::CallState;
pub use lease_slot::LeaseSlot;
pub(crate) use request::{AcquireFuture, leave_request};
