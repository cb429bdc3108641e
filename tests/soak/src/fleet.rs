//! The worker processes, and what is done to them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use redlock_tests::{Service, Signal};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::faults::{Deck, Toll, stop};
use crate::history::Journals;
use crate::worker::{Orders, READY};

/// How long a worker may take to wind up.
const END: Duration = Duration::from_secs(60);

pub(crate) const KILLED: &str = "worker killed and replaced";
pub(crate) const PAUSED: &str = "worker paused";

#[derive(Clone, Copy, Debug)]
enum WorkerFault {
    Pause,
    Kill,
}

/// Dropping it kills every worker.
pub(crate) struct Fleet {
    workers: Vec<Service>,
    /// What the next worker is told.
    orders: Orders,
    program: PathBuf,
    journals: Arc<Mutex<Journals>>,
    rng: StdRng,
}

impl Fleet {
    pub(crate) async fn start(
        count: u32,
        orders: Orders,
        journals: Arc<Mutex<Journals>>,
    ) -> io::Result<Self> {
        let mut fleet = Self {
            workers: Vec::new(),
            program: std::env::current_exe()?,
            rng: StdRng::seed_from_u64(orders.seed ^ 0xF1EE7),
            orders,
            journals,
        };
        for _ in 0..count {
            let worker = fleet.enlist().await;
            fleet.workers.push(worker);
        }
        Ok(fleet)
    }

    async fn enlist(&mut self) -> Service {
        self.orders.worker += 1;
        let worker = self.orders.worker;
        self.orders
            .journal
            .set_file_name(format!("worker-{worker}"));
        {
            let mut journals = self.journals.lock();
            journals.add(self.orders.journal.clone());
        }
        let words = self.orders.to_words();
        let none = std::iter::empty::<(&str, &str)>();
        Service::spawn_with_args(&self.program, words, none, READY).await
    }

    /// Pauses workers for up to longer than any ttl, and kills and replaces them, one at a time.
    /// When it has stopped, all of them run.
    pub(crate) async fn suffer(mut self, toll: Toll, stopped: watch::Receiver<bool>) -> Self {
        let rng = StdRng::seed_from_u64(self.rng.random());
        let mut deck = Deck::new(
            &[WorkerFault::Pause, WorkerFault::Pause, WorkerFault::Kill],
            rng,
        );
        loop {
            let pause = Duration::from_millis(self.rng.random_range(200..1500));
            tokio::select! {
                () = sleep(pause) => {}
                () = stop(stopped.clone()) => return self,
            }
            let seats: Vec<usize> = (0..self.workers.len()).collect();
            let seat = *seats.choose(&mut self.rng).expect("there are workers");
            match deck.deal() {
                WorkerFault::Pause => {
                    toll.add(PAUSED);
                    let span = Duration::from_millis(self.rng.random_range(300..3400));
                    self.workers[seat].freeze();
                    tokio::select! {
                        () = sleep(span) => {}
                        () = stop(stopped.clone()) => {}
                    }
                    self.workers[seat].thaw();
                }
                WorkerFault::Kill => {
                    toll.add(KILLED);
                    if !self.workers[seat].is_running() {
                        // Left for the end, which looks at what it said.
                        continue;
                    }
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
