//! A process of its own that slows other processes down, as a container with little processor time
//! does: they stand still for 5 to 80 ms now and then. The process that checks the result is not
//! slowed down. It does not stop the others itself: if it were held up, they would stand still for
//! longer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use redlock_tests::{Service, Signal};
use rustix::process::{Pid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use crate::options::Throttle;

/// What the parent calls this program with in the place of options.
pub(crate) const COMMAND: &str = "throttle";

const READY: &str = "throttles by ";
const COUNT: &str = "times: ";

/// How long something stands still, in ms.
const STILL: std::ops::RangeInclusive<u64> = 5..=80;

/// How often a group gets other shares.
const SHARES: Duration = Duration::from_secs(1);

/// How long the end may take.
const END: Duration = Duration::from_secs(30);

/// The process that throttles others, until it is told to end.
pub(crate) struct Throttler(Service);

impl Throttler {
    /// Throttles the processes `pids`, and says how.
    pub(crate) async fn start(how: Throttle, seed: u64, pids: &[u32]) -> io::Result<Self> {
        let mut words = vec![COMMAND.to_owned(), how.name().to_owned(), seed.to_string()];
        words.extend(pids.iter().map(u32::to_string));
        let program = std::env::current_exe()?;
        let none = std::iter::empty::<(&str, &str)>();
        let service = Service::spawn_with_args(&program, words, none, READY).await;
        println!("{READY}{}", service.ready());
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

/// What the process does: `how seed pid…`.
pub(crate) async fn run(words: &[String]) -> io::Result<()> {
    let [how, seed, pids @ ..] = words else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut terminate = signal(SignalKind::terminate())?;
    let seed: u64 = seed.parse().unwrap_or(1);
    let pids = pids
        .iter()
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
    let pids: Vec<Pid> = pids.collect();
    let groups = match Throttle::parse(how) {
        Ok(Throttle::Stop) => None,
        Ok(Throttle::Cgroup) => Some(Cgroup::all(&pids)?),
        // Where there is none, or it is not ours to make.
        _ => Cgroup::all(&pids).ok(),
    };
    let is_over = Arc::new(AtomicBool::new(false));
    let count = Arc::new(AtomicU64::new(0));
    println!("{READY}{}", groups.as_ref().map_or("SIGSTOP", |_| "cgroup"));
    let mut groups = groups.unwrap_or_default().into_iter();
    let threads: Vec<_> = (1..)
        .zip(pids)
        .map(|(number, pid)| {
            let (is_over, count) = (Arc::clone(&is_over), Arc::clone(&count));
            let rng = StdRng::seed_from_u64(seed ^ (number << 40));
            let group = groups.next();
            thread::spawn(move || match group {
                Some(group) => group.squeeze(rng, &is_over, &count),
                None => stop_and_go(pid, rng, &is_over, &count),
            })
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

/// A control group with one process in it. Dropping it puts the process back.
struct Cgroup {
    path: PathBuf,
    pid: Pid,
    /// Version 2 keeps both numbers in one file.
    is_unified: bool,
}

impl Cgroup {
    fn all(pids: &[Pid]) -> io::Result<Vec<Self>> {
        pids.iter().map(|pid| Self::make(*pid)).collect()
    }

    fn make(pid: Pid) -> io::Result<Self> {
        let parents = fs::read_to_string("/proc/self/cgroup")?;
        let of = |wanted: &str, root: &str| {
            let mut lines = parents.lines().map(|line| line.splitn(3, ':').skip(1));
            let inside = lines.find_map(|mut words| {
                let is_it = words.next()?.split(',').any(|name| name == wanted);
                is_it.then(|| words.next()).flatten()
            })?;
            Some(Path::new(root).join(inside.trim_start_matches('/')))
        };
        let places = [
            (of("", "/sys/fs/cgroup"), true),
            (of("cpu", "/sys/fs/cgroup/cpu"), false),
        ];
        let mut problem = io::ErrorKind::NotFound.into();
        for (parent, is_unified) in places {
            let Some(parent) = parent else { continue };
            let name = format!("redlock-soak-{}", pid.as_raw_nonzero());
            let path = parent.join(name);
            match fs::create_dir(&path) {
                Ok(()) => {}
                Err(error) => {
                    problem = error;
                    continue;
                }
            }
            let group = Self {
                path,
                pid,
                is_unified,
            };
            let entered = group.share(50, 10).and_then(|()| group.put(&group.path));
            match entered {
                Ok(()) => return Ok(group),
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }

    /// The process runs for so long of each period, if it wants to.
    fn share(&self, period_ms: u64, run_ms: u64) -> io::Result<()> {
        let (period, run) = (period_ms * 1000, run_ms * 1000);
        if self.is_unified {
            return overwrite(&self.path.join("cpu.max"), &format!("{run} {period}"));
        }
        // Not both can be changed at once, and a share must not be longer than its period.
        overwrite(&self.path.join("cpu.cfs_quota_us"), "-1")?;
        overwrite(&self.path.join("cpu.cfs_period_us"), &period.to_string())?;
        overwrite(&self.path.join("cpu.cfs_quota_us"), &run.to_string())
    }

    fn put(&self, group: &Path) -> io::Result<()> {
        let pid = self.pid.as_raw_nonzero().to_string();
        overwrite(&group.join("cgroup.procs"), &pid)
    }

    /// How often it stood still.
    fn stops(&self) -> u64 {
        let stat = fs::read_to_string(self.path.join("cpu.stat")).unwrap_or_default();
        let mut lines = stat.lines();
        let count = lines.find_map(|line| line.strip_prefix("nr_throttled "));
        count.and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    fn squeeze(self, mut rng: StdRng, is_over: &AtomicBool, count: &AtomicU64) {
        while !is_over.load(Ordering::Relaxed) {
            let run = rng.random_range(1..=10);
            // One that is busy all the time stands still for the rest of each period.
            let _ = self.share(rng.random_range(STILL) + run, run);
            thread::sleep(SHARES.mul_f64(rng.random_range(0.2..1.0)));
        }
        count.fetch_add(self.stops(), Ordering::Relaxed);
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if let Some(parent) = self.path.parent() {
            // It may have ended.
            let _ = self.put(parent);
        }
        let _ = fs::remove_dir(&self.path);
    }
}

/// Without creating it: a file that is not there tells that there is no such controller.
fn overwrite(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write as _;
    fs::OpenOptions::new()
        .write(true)
        .open(path)?
        .write_all(text.as_bytes())
}
