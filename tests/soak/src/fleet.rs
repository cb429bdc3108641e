//! The worker processes, and what is done to them.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use redlock_tests::{Service, Signal};
use tokio::sync::watch;

use crate::check::Violation;
use crate::faults::{Deck, stops_within};
use crate::history::Shared;
use crate::hot::{Death, Step};
use crate::worker::{COMMAND, Orders, READY};

/// How long a worker may take to wind up.
const END: Duration = Duration::from_secs(60);

/// A fault of one worker.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorkerFault {
    Pause,
    Kill,
}

/// How often a fleet looks for workers that have died.
const LOOK: Duration = Duration::from_millis(20);

/// SIGKILL.
const KILLED: i32 = 9;

/// Dropping it kills every worker.
pub(crate) struct Fleet {
    workers: Vec<Service>,
    /// What the next worker is told.
    orders: Orders,
    program: PathBuf,
    history: Shared,
    /// How the workers of hot locks die.
    deaths: Deck<Step>,
}

impl Fleet {
    pub(crate) async fn start(orders: Orders, history: &Shared) -> Self {
        let mut fleet = Self {
            workers: Vec::new(),
            program: std::env::current_exe().expect("the path of this program"),
            history: Arc::clone(history),
            deaths: Deck::new(
                &Step::ALL,
                StdRng::seed_from_u64(orders.options.seed.into()),
            ),
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
        self.orders.dies = self.draw_death();
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
            match fault {
                WorkerFault::Pause => self.pause(seat, &mut rng, &stopped).await,
                // One that has ended is left for the end, which looks at what it said.
                WorkerFault::Kill if !self.workers[seat].is_running() => {}
                WorkerFault::Kill => {
                    self.count(fault);
                    self.workers[seat].kill();
                    self.workers[seat] = self.enlist().await;
                }
            }
        }
    }

    fn draw_death(&mut self) -> Option<Death> {
        let longest = (self.orders.options.turns / 25).min(40_000);
        let mut rng = StdRng::seed_from_u64(self.orders.worker.into());
        (longest > 0).then(|| Death {
            step: self.deaths.deal(|_| true),
            turns: rng.random_range(0..longest),
        })
    }

    /// Replaces workers that have killed themselves, and pauses one now and then. When it has stopped, all of them run.
    pub(crate) async fn bury(mut self, stopped: watch::Receiver<bool>) -> Self {
        let mut rng = StdRng::seed_from_u64(u64::from(self.orders.options.seed) ^ 0xDEAD);
        while !stops_within(LOOK, &stopped).await {
            for seat in 0..self.workers.len() {
                if !self.workers[seat].is_running() {
                    let worker = self.enlist().await;
                    let dead = std::mem::replace(&mut self.workers[seat], worker);
                    self.record_death(&dead).await;
                }
            }
            if rng.random_ratio(1, 100) {
                let seat = rng.random_range(0..self.workers.len());
                self.pause(seat, &mut rng, &stopped).await;
            }
        }
        self
    }

    /// Counts the fault that the last words of a worker name.
    async fn record_death(&self, dead: &Service) {
        let end = dead.wait(END).await.signal();
        let said = dead.output();
        let fault = said.lines().rev().find(|line| line.starts_with("fault: "));
        let mut history = self.history.lock();
        match fault {
            Some(fault) if end == Some(KILLED) => history.count(fault),
            _ => history.found.push(Violation::Worker(said)),
        }
    }

    async fn pause(&self, seat: usize, rng: &mut StdRng, stopped: &watch::Receiver<bool>) {
        let span = Duration::from_millis(rng.random_range(300..3400));
        self.count(WorkerFault::Pause);
        self.workers[seat].freeze();
        stops_within(span, stopped).await;
        self.workers[seat].thaw();
    }

    fn count(&self, fault: WorkerFault) {
        let row = format!("fault: worker {fault:?}");
        self.history.lock().count(&row);
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
            let may_die = self.orders.dies.is_some() && status.signal() == Some(KILLED);
            if !status.success() && !may_die {
                wrong.push(format!("ended with {status}: {worker}"));
            }
        }
        wrong
    }
}
