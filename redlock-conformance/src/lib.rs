//! Checks that a [`Node`] keeps its contract, for authors of nodes.
//!
//! `Config::pool_node` of `redlock-runtime` takes such a node. This crate belongs in `[dev-dependencies]`, because it
//! switches on the feature `testing` of `redlock-core`.
//!
//! The author of the node writes a [`Rig`]. The rig makes nodes of one store, reads and sets the store's keys
//! directly, and inflicts [faults](ServerFault). [`run`] runs each check on new nodes of the rig, and returns a
//! [`Report`]. A check that needs a fault that the rig lacks is not applicable.
//!
//! ```
//! # use std::sync::Arc;
//! # use redlock_conformance::{IoThread, Rig, ServerFault, run};
//! # use redlock_core::{MemoryNode, Node};
//! struct InMemory(MemoryNode);
//!
//! impl Rig for InMemory {
//!     async fn node(&self) -> Arc<dyn Node> {
//!         Arc::new(self.0.clone())
//!     }
//!
//!     async fn value(&self, key: &str) -> Option<Vec<u8>> {
//!         self.0.get(key.as_bytes())
//!     }
//!
//!     async fn set(&self, key: &str, value: Option<&[u8]>) {
//!         match value {
//!             Some(value) => self.0.put(key.as_bytes(), value, redlock_conformance::TTL),
//!             None => self.0.delete(key.as_bytes()),
//!         }
//!     }
//!
//!     fn faults(&self) -> &[ServerFault] {
//!         &[ServerFault::Cut]
//!     }
//!
//!     async fn inflict(&self, _: ServerFault) {
//!         self.0.cut();
//!     }
//!
//!     async fn mend(&self) {
//!         self.0.restore();
//!     }
//! }
//!
//! # let io = IoThread::start().unwrap();
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let rig = InMemory(MemoryNode::new("a", io.environment().clock));
//! run(&Arc::new(rig)).await.assert_passed();
//! # });
//! ```

// A check fails by a panic, which the run catches.
#![allow(clippy::missing_panics_doc)]

#[macro_use]
mod bench;
mod caller;
mod faults;
mod order;
mod report;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use redlock_core::Node;

/// Provides the clock, the randomness and the background tasks for the nodes of a rig.
#[doc(no_inline)]
pub use redlock_core::IoThread;

use bench::Bench;
pub use report::Report;

/// The ttl of the locks that the checks take, which is longer than any wait of a check.
pub const TTL: Duration = Duration::from_secs(60);

/// The longest time that a check waits for an event.
///
/// A node must give up a frozen server within this time.
pub const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// The number of calls in flight that nodes made under [`ServerFault::FewPlaces`] accept.
pub const FEW: usize = 4;

/// Makes the nodes of one store, and inflicts faults on them.
///
/// [`run`] awaits the rig's futures on its own thread, with one exception: one [`node`](Self::node) is made on another
/// runtime, which ends while the node lives on.
#[expect(async_fn_in_trait, reason = "nobody needs to send the futures")]
pub trait Rig: Send + Sync + 'static {
    /// Makes another node of the store, and waits until it votes.
    async fn node(&self) -> Arc<dyn Node>;

    /// Reads the value of `key` directly from the store. Called only while the store serves calls.
    async fn value(&self, key: &str) -> Option<Vec<u8>>;

    /// Sets `key` directly in the store, for at least [`TTL`], or deletes it.
    async fn set(&self, key: &str, value: Option<&[u8]>);

    /// Returns the faults that this rig can inflict.
    fn faults(&self) -> &[ServerFault] {
        &[]
    }

    /// Inflicts one of the rig's [`faults`](Self::faults), and returns when the fault has taken effect.
    async fn inflict(&self, fault: ServerFault) {
        panic!("the rig lists {fault:?} and does not inflict it");
    }

    /// Ends all faults, and delivers the calls and answers that were held back.
    ///
    /// The store keeps its data. Only a store that was [killed](ServerFault::Kill) may lose what it had only in memory.
    async fn mend(&self) {}
}

/// A fault of a node's server, until the rig [mends](Rig::mend) it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerFault {
    /// All connections of the nodes break once. New connections succeed.
    Sever,
    /// All connections of the nodes break, and new connections fail. The store keeps running.
    Cut,
    /// The server freezes. It accepts connections and calls, and serves the calls when the fault ends. Until then the
    /// node fails the calls, within [`LONGEST_WAIT`], and abstains.
    Freeze,
    /// The server dies. [`mend`](Rig::mend) restarts it.
    Kill,
    /// The server forgets all scripts once.
    FlushScripts,
    /// The existing connections hold back all calls, but new connections pass them on.
    ///
    /// The held calls arrive when the fault ends, even if their connections have been closed.
    HoldRequests,
    /// All answers are held back until the fault ends.
    HoldAnswers,
    /// New nodes accept only [`FEW`] calls in flight.
    FewPlaces,
}

/// A check of a node.
struct Check<R> {
    name: &'static str,
    /// The faults that the check inflicts. The rig must list all of them.
    needs: &'static [ServerFault],
    run: CheckFn<R>,
}

type CheckFn<R> = for<'a> fn(&'a mut Bench<R>) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Makes the list of checks from rows of a function and the faults that it needs.
macro_rules! checks {
    ($( $room:ident::$check:ident [$($fault:ident),*] )+) => {
        fn checks<R: Rig>() -> Vec<Check<R>> {
            vec![$(Check {
                name: stringify!($check),
                needs: &[$(ServerFault::$fault),*],
                run: |bench| Box::pin($room::$check(bench)),
            }),+]
        }
    };
}

checks! {
    order::many_locks_keep_their_order []
    order::a_refusal_is_a_vote_against []
    order::each_kind_is_taken_and_released []
    order::a_flush_of_scripts_loses_nothing [FlushScripts]
    caller::a_caller_may_leave_at_each_await []
    caller::a_runtime_of_callers_may_end []
    caller::the_runtime_of_the_node_may_end []
    caller::a_release_may_be_the_last_call []
    faults::a_release_outlives_its_connection [Sever]
    faults::a_release_waits_for_a_connection [Cut]
    faults::what_lost_its_answer_is_released [HoldAnswers, Sever]
    faults::an_acquisition_that_comes_late_is_released [HoldRequests]
    faults::a_node_is_drained_once_all_is_answered [HoldAnswers]
    faults::a_frozen_server_votes_no [Freeze]
    faults::a_server_that_was_killed_votes_again [Kill]
    faults::a_full_node_refuses_acquisitions_alone [FewPlaces, Freeze]
}

/// Runs each check on the nodes of `rig`, and prints and returns the results. Needs a tokio runtime.
pub async fn run<R: Rig>(rig: &Arc<R>) -> Report {
    let (mut bench, mut report) = (Bench::new(rig).await, Report::default());
    for Check { name, needs, run } in checks() {
        if let Some(fault) = needs.iter().find(|it| !rig.faults().contains(it)) {
            println!("{name} ... not applicable without {fault:?}");
            report.not_applicable.push((name, *fault));
            continue;
        }
        bench.check = name;
        let checking = async {
            bench.renew().await;
            run(&mut bench).await;
        };
        report.add(name, checking).await;
        rig.mend().await;
    }
    if !report.passed.is_empty() {
        let check = bench.expect_none_back();
        report.add("no_released_key_came_back", check).await;
    }
    report
}
