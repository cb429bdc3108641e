//! The workers of hot locks: callers that take a turn and come again at once, until their process dies.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redlock_runtime::{LockError, lock};
use rustix::process::{Signal, getpid, kill_process};
use serde::{Deserialize, Serialize};
use tokio::signal::unix::Signal as Signals;
use tokio::sync::watch;
use tokio::task::{JoinSet, yield_now};
use tokio::time::sleep;

use crate::event::{Event, LeaseId};
use crate::journal::Journal;
use crate::worker::Orders;

use super::store::Log;

/// Short, because the lock of a worker that has died is free again after it.
const TTL: Duration = Duration::from_millis(400);

/// The longest wait for a turn.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most by which a number may be ahead of the time, in µs.
const MOST_AHEAD: u64 = 1_000_000;

/// The step of a turn at which a worker kills itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// The caller stands in line, or has sent its attempt.
    Asks,
    /// The caller is woken: the lock was handed over to it, or the nodes have answered.
    IsWoken,
    /// The caller has the lease, and has written nothing.
    Begins,
    /// The holder has written its number.
    Holds,
    /// The holder has handed over, or has sent its release.
    Leaves,
}

impl Step {
    pub(crate) const ALL: [Self; 5] = [
        Self::Asks,
        Self::IsWoken,
        Self::Begins,
        Self::Holds,
        Self::Leaves,
    ];

    /// Returns its row of the table.
    pub(crate) fn row(self) -> String {
        format!("fault: worker dies as it {self:?}")
    }
}

/// The end of a worker.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Death {
    pub(crate) step: Step,
    /// The turns before the one in which the worker dies, or in which it comes to the step after that.
    pub(crate) turns: u32,
}

impl Death {
    /// Returns the step at which the worker dies in a turn that begins now, if it dies.
    fn due(self, turns: &AtomicU32) -> Option<Step> {
        let before = turns.fetch_add(1, Ordering::Relaxed);
        (before >= self.turns).then_some(self.step)
    }
}

/// Kills this process if this is its last step. Its last words are the row of the table.
fn pass(step: Step, last: Option<Step>) {
    if last == Some(step) {
        println!("{}", step.row());
        kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
    }
}

/// Polls `work`, and dies after the first poll at step `first`, or before the next one at step `woken`.
async fn polled<F: Future>(
    work: F,
    first: Step,
    woken: Option<Step>,
    last: Option<Step>,
) -> F::Output {
    let (mut work, mut polls) = (pin!(work), 0);
    poll_fn(|context| {
        if let (1, Some(woken)) = (polls, woken) {
            pass(woken, last);
        }
        let polled = work.as_mut().poll(context);
        if polls == 0 {
            pass(first, last);
        }
        polls += 1;
        polled
    })
    .await
}

/// One caller of one lock.
struct Caller {
    id: LeaseId,
    name: String,
    /// A holder whose number is a multiple of this comes to its write only after the ttl.
    late: u64,
    log: Arc<Log>,
    journal: Arc<Journal>,
}

impl Caller {
    async fn take_turn(&self, last: Option<Step>) -> Result<(), LockError> {
        let acquisition = lock(&self.name).ttl(TTL).wait(PATIENCE).fencing().acquire();
        let lease = polled(acquisition, Step::Asks, Some(Step::IsWoken), last).await?;
        pass(Step::Begins, last);
        let number = lease.fencing_token().as_u64();
        self.check_ahead(number);
        if number.is_multiple_of(self.late) {
            sleep(TTL * 2).await;
        }
        self.wrote(self.log.enter(self.id, number));
        if lease.validity().is_zero() {
            self.wrote(self.log.withdraw(self.id));
        }
        pass(Step::Holds, last);
        yield_now().await;
        polled(lease.release(), Step::Leaves, None, last).await;
        Ok(())
    }

    fn check_ahead(&self, number: u64) {
        let time = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let latest = u64::try_from(time.as_micros()).unwrap_or(0) + MOST_AHEAD;
        if number > latest {
            self.broken(format!("the number {number} is ahead of {latest}"));
        }
    }

    fn wrote(&self, written: io::Result<()>) {
        if let Err(error) = written {
            self.broken(format!("the store cannot be written: {error}"));
        }
    }

    fn broken(&self, text: String) {
        self.journal.write(&Event::Broken(text));
    }
}

/// Takes turns until `terminate`, or until the worker dies.
pub(crate) async fn run_worker(orders: &Orders, journal: &Arc<Journal>, mut terminate: Signals) {
    let (turns, dies) = (Arc::new(AtomicU32::new(0)), orders.dies);
    let (stop, stopped) = watch::channel(false);
    let mut lanes = JoinSet::new();
    for number in 0..orders.options.resources {
        let log = Log::open(&orders.store, number).expect("the parent has made the store");
        let log = Arc::new(log);
        for lane in 0..orders.options.tasks {
            let caller = Caller {
                id: LeaseId(orders.worker, lane),
                name: format!("hot:{number}"),
                late: u64::from(orders.options.turns / 10).max(1),
                log: Arc::clone(&log),
                journal: Arc::clone(journal),
            };
            let (turns, stopped) = (Arc::clone(&turns), stopped.clone());
            lanes.spawn(async move {
                while !*stopped.borrow() {
                    let last = dies.and_then(|death| death.due(&turns));
                    if let Err(error) = caller.take_turn(last).await {
                        caller.journal.count(row_of(&error));
                    }
                }
            });
        }
    }
    terminate.recv().await;
    stop.send_replace(true);
    lanes.join_all().await;
}

fn row_of(error: &LockError) -> String {
    let kind = format!("{:?}", error.kind());
    let end = kind.find(['(', ' ', '{']).unwrap_or(kind.len());
    format!("refused: {}", &kind[..end])
}
