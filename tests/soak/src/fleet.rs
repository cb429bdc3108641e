//! The worker processes, and what is done to them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use redlock_tests::{Service, Signal};
use tokio::sync::watch;

use crate::faults::{Deck, stops_within};
use crate::history::Shared;
use crate::worker::{COMMAND, Orders, READY};

/// How long a worker may take to wind up.
const END: Duration = Duration::from_secs(60);

/// A fault of one worker.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorkerFault {
    Pause,
    Kill,
}

/// Dropping it kills every worker.
pub(crate) struct Fleet {
    workers: Vec<Service>,
    /// What the next worker is told.
    orders: Orders,
    program: PathBuf,
    history: Shared,
}

impl Fleet {
    pub(crate) async fn start(orders: Orders, history: &Shared) -> Self {
        let mut fleet = Self {
            workers: Vec::new(),
            program: std::env::current_exe().expect("the path of this program"),
            history: Arc::clone(history),
            orders,
        };
        for _ in 0..fleet.orders.options.processes {
            let worker = fleet.enlist().await;
            fleet.workers.push(worker);
        }
        fleet
    }

    async fn enlist(&mut self) -> Service {
        self.orders.worker += 1;
        let name = format!("worker-{}", self.orders.worker);
        self.orders.journal.set_file_name(name);
        self.history.lock().add_journal(&self.orders.journal);
        let orders = serde_json::to_string(&self.orders).expect("orders are JSON");
        let none = std::iter::empty::<(&str, &str)>();
        Service::spawn_with_args(&self.program, [COMMAND, &orders], none, READY).await
    }

    /// Pauses workers for up to longer than any ttl, and kills and replaces them, one at a time.
    /// When it has stopped, all of them run.
    pub(crate) async fn suffer(mut self, stopped: watch::Receiver<bool>) -> Self {
        let mut rng = StdRng::seed_from_u64(u64::from(self.orders.options.seed) ^ 0xF1EE7);
        let (kinds, pauses) = if self.orders.options.kills > 1 {
            (&[WorkerFault::Kill][..], 0..200)
        } else {
            use WorkerFault::{Kill, Pause};
            (&[Pause, Pause, Kill][..], 200..1500)
        };
        let mut deck = Deck::new(kinds, StdRng::seed_from_u64(rng.random()));
        loop {
            let pause = Duration::from_millis(rng.random_range(pauses.clone()));
            if stops_within(pause, &stopped).await {
                return self;
            }
            let seat = rng.random_range(0..self.workers.len());
            let fault = deck.deal(|_| true);
            self.history
                .lock()
                .count(&format!("fault: worker {fault:?}"));
            match fault {
                WorkerFault::Pause => {
                    let span = Duration::from_millis(rng.random_range(300..3400));
                    self.workers[seat].freeze();
                    stops_within(span, &stopped).await;
                    self.workers[seat].thaw();
                }
                // One that has ended is left for the end, which looks at what it said.
                WorkerFault::Kill if !self.workers[seat].is_running() => {}
                WorkerFault::Kill => {
                    self.workers[seat].kill();
                    self.workers[seat] = self.enlist().await;
                }
            }
        }
    }

    /// Ends all workers, and says what was wrong with any.
    pub(crate) async fn stop(self) -> Vec<String> {
        for worker in &self.workers {
            worker.signal(Signal::TERM);
        }
        self.ended().await
    }

    /// Waits until all workers have ended, and says what was wrong with any.
    pub(crate) async fn ended(self) -> Vec<String> {
        let mut wrong = Vec::new();
        for worker in &self.workers {
            let status = worker.wait(END).await;
            if !status.success() {
                wrong.push(format!("ended with {status}: {worker}"));
            }
        }
        wrong
    }
}
