//! A process of its own that slows other processes down, as a container with little processor time
//! does: they stand still for 5 to 80 ms now and then. The process that checks the result is not
//! slowed down. It does not stop the others itself: if it were held up, they would stand still for
//! longer.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use redlock_tests::{Service, Signal};
use rustix::process::{Pid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

/// What the parent calls this program with in the place of options.
pub(crate) const COMMAND: &str = "throttle";

const READY: &str = "throttles ";
const COUNT: &str = "times: ";

/// How long something stands still, in ms.
const STILL: std::ops::RangeInclusive<u64> = 5..=80;

/// How long the end may take.
const END: Duration = Duration::from_secs(30);

/// The process that throttles others, until it is told to end.
pub(crate) struct Throttler(Service);

impl Throttler {
    /// Throttles the processes `pids`.
    pub(crate) async fn start(seed: u64, pids: &[u32]) -> io::Result<Self> {
        let mut words = vec![COMMAND.to_owned(), seed.to_string()];
        words.extend(pids.iter().map(u32::to_string));
        let program = std::env::current_exe()?;
        let none = std::iter::empty::<(&str, &str)>();
        let service = Service::spawn_with_args(&program, words, none, READY).await;
        Ok(Self(service))
    }

    /// Ends it, when all processes run as they like. Returns how often one of them stood still.
    pub(crate) async fn stop(self) -> u64 {
        self.0.signal(Signal::TERM);
        let line = self.0.wait_for_line(COUNT, END).await;
        let status = self.0.wait(END).await;
        assert!(status.success(), "{}", self.0);
        line[COUNT.len()..].trim().parse().unwrap_or(0)
    }
}

/// What the process does: `seed pid…`.
pub(crate) async fn run(words: &[String]) -> io::Result<()> {
    let [seed, pids @ ..] = words else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut terminate = signal(SignalKind::terminate())?;
    let seed: u64 = seed.parse().unwrap_or(1);
    let pids = pids
        .iter()
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
    let pids: Vec<Pid> = pids.collect();
    let is_over = Arc::new(AtomicBool::new(false));
    let count = Arc::new(AtomicU64::new(0));
    println!("{READY}{} processes", pids.len());
    let threads: Vec<_> = (1..)
        .zip(pids)
        .map(|(number, pid)| {
            let (is_over, count) = (Arc::clone(&is_over), Arc::clone(&count));
            let rng = StdRng::seed_from_u64(seed ^ (number << 40));
            thread::spawn(move || stop_and_go(pid, rng, &is_over, &count))
        })
        .collect();
    terminate.recv().await;
    is_over.store(true, Ordering::Relaxed);
    for thread in threads {
        thread
            .join()
            .map_err(|_| io::Error::other("a thread panicked"))?;
    }
    println!("{COUNT}{}", count.load(Ordering::Relaxed));
    Ok(())
}

/// `SIGSTOP` and `SIGCONT` by turns. One that has ended takes neither.
fn stop_and_go(pid: Pid, mut rng: StdRng, is_over: &AtomicBool, count: &AtomicU64) {
    while !is_over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(rng.random_range(40..400)));
        let _ = kill_process(pid, Signal::STOP);
        thread::sleep(Duration::from_millis(rng.random_range(STILL)));
        let _ = kill_process(pid, Signal::CONT);
        count.fetch_add(1, Ordering::Relaxed);
    }
}
