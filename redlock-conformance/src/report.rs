//! The report of a run, with the result of each check.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use tokio::time::timeout;

use crate::{LONGEST_WAIT, ServerFault};

/// The results of a run: the name of each check, and how the node did.
#[derive(Debug, Default)]
#[non_exhaustive]
#[must_use = "a failed check does not panic by itself"]
pub struct Report {
    /// The checks that the node passed.
    pub passed: Vec<&'static str>,
    /// The checks that the node failed, each with its reason.
    pub failed: Vec<(&'static str, String)>,
    /// The checks that were left out, each with the fault that the rig lacks.
    pub not_applicable: Vec<(&'static str, ServerFault)>,
}

impl Report {
    /// Returns the names of the checks that were left out.
    pub fn left_out(&self) -> Vec<&'static str> {
        self.not_applicable.iter().map(|(name, _)| *name).collect()
    }

    /// Panics if a check failed, or if every check was left out.
    #[track_caller]
    pub fn assert_passed(&self) {
        let failed = self
            .failed
            .iter()
            .map(|(name, why)| format!("\n{name}: {why}"));
        let failed: String = failed.collect();
        assert!(failed.is_empty(), "the node breaks its contract:{failed}");
        assert!(!self.passed.is_empty(), "no check applied");
    }

    /// Awaits a check and records its result.
    ///
    /// The check fails by a panic, or after four times [`LONGEST_WAIT`].
    pub(crate) async fn add(&mut self, name: &'static str, check: impl Future<Output = ()>) {
        let mut check = pin!(timeout(4 * LONGEST_WAIT, check));
        let done = poll_fn(|context| {
            let polled = catch_unwind(AssertUnwindSafe(|| check.as_mut().poll(context)));
            polled.map_or_else(|panic| Poll::Ready(Err(panic)), |it| it.map(Ok))
        });
        let why = match done.await {
            Ok(Ok(())) => {
                println!("{name} ... ok");
                return self.passed.push(name);
            }
            Ok(Err(_)) => "the check timed out".to_owned(),
            Err(panic) => match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
                (Some(text), _) => text.clone(),
                (_, text) => text.map_or("the check panicked", |text| text).to_owned(),
            },
        };
        println!("{name} ... FAILED: {why}");
        self.failed.push((name, why));
    }
}
