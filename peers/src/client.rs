//! A client written in Rust as a program that obeys `measure`.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use std::{env, io, process, thread};

use redlock_benches::{Moment, Ours, keep, now};
use redlock_core::request::RetryLimit;
use redlock_core::{Lease, Request};
use rslock::{Lock, LockManager};
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::etcd_client::Etcd;
use crate::postgres_client::Postgres;

/// The argument that makes this a program of a client; the system's name and the URLs of its servers follow.
const ARGUMENT: &str = "--measure-this-system";

/// The ttl of every lock: far beyond the time for which a caller holds it.
const TTL: Duration = Duration::from_secs(10);

/// The time for which a caller of ours tries. The others have no bound, or half a minute too.
const PATIENCE: Duration = Duration::from_secs(30);

/// The caller's number, and when it asked, acquired, began to release, and had released.
pub(crate) type Call = (usize, Moment, Moment, Moment, Moment);

/// The answer of a program.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) calls: Vec<Call>,
    pub(crate) failures: usize,
    pub(crate) first_failure: Option<String>,
}

/// A client with callers, which wait for a lock in the client's own way.
pub(crate) trait Locks: Send + Sync + 'static {
    /// A lock that is held.
    type Held: Send;

    /// Waits for the lock.
    fn acquire(
        &self,
        caller: usize,
        key: &str,
    ) -> impl Future<Output = Result<Self::Held, String>> + Send;

    /// Gives it back.
    fn release(
        &self,
        caller: usize,
        held: Self::Held,
    ) -> impl Future<Output = Result<(), String>> + Send;
}

/// Returns the command that starts the program of a system; the URLs follow.
pub(crate) fn command(system: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("a path to this program"));
    command.args([ARGUMENT, system]);
    command
}

/// Measures one system, if the command line says so. Returns whether it did.
pub(crate) fn work() -> bool {
    let mut arguments = env::args().skip(1);
    if arguments.next().as_deref() != Some(ARGUMENT) {
        return false;
    }
    let system = arguments.next().expect("the name of a system");
    let urls: Vec<String> = arguments.collect();
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = &runtime.expect("a tokio runtime");
    let ours = |is_fenced| {
        let ours = runtime.block_on(Ours::connect(&urls, Duration::from_secs(1)));
        serve(runtime, Redlock { ours, is_fenced });
    };
    match &*system {
        "redlock" => ours(false),
        "redlock, fenced" => ours(true),
        "rslock" => serve(runtime, rslock(&urls)),
        "etcd" => serve(runtime, runtime.block_on(Etcd::connect(&urls))),
        "PostgreSQL" => serve(runtime, runtime.block_on(Postgres::connect(&urls[0]))),
        other => panic!("{other}"),
    }
    true
}

/// Obeys the lines of the input, until it ends.
fn serve(runtime: &Runtime, locks: impl Locks) {
    let locks = Arc::new(locks);
    let (lines, mut taken) = mpsc::unbounded_channel::<String>();
    thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            let _ = lines.send(line);
        }
        // The benchmark is gone, also if callers still wait.
        process::exit(0);
    });
    while let Some(line) = taken.blocking_recv() {
        let words: Vec<_> = line.split(' ').collect();
        let ["measure", key, own, callers, end] = words[..] else {
            panic!("{line}");
        };
        let end: Moment = end.parse().expect("a moment");
        let callers: Vec<_> = (0..callers.parse().expect("a number"))
            .map(|caller| {
                let key = match own {
                    "own" => format!("{key}:{caller}"),
                    _ => key.to_owned(),
                };
                runtime.spawn(call(Arc::clone(&locks), caller, key, end))
            })
            .collect();
        let mut all = Measured::default();
        for caller in callers {
            let one = runtime.block_on(caller);
            let one = one.expect("a caller that does not panic");
            all.calls.extend(one.calls);
            all.failures += one.failures;
            all.first_failure = all.first_failure.or(one.first_failure);
        }
        println!("ok {}", serde_json::to_string(&all).expect("no map"));
    }
}

async fn call(locks: Arc<impl Locks>, caller: usize, key: String, end: Moment) -> Measured {
    let mut measured = Measured::default();
    loop {
        let asked = now();
        if asked >= end {
            return measured;
        }
        let pair = async {
            let held = locks.acquire(caller, &key).await?;
            let acquired = now();
            keep(Duration::ZERO).await;
            let releasing = now();
            locks.release(caller, held).await?;
            Ok((caller, asked, acquired, releasing, now()))
        };
        match pair.await {
            Ok(call) => measured.calls.push(call),
            Err(error) => {
                measured.failures += 1;
                measured.first_failure.get_or_insert(error);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

struct Redlock {
    ours: Ours,
    is_fenced: bool,
}

impl Locks for Redlock {
    type Held = Lease;

    async fn acquire(&self, _caller: usize, key: &str) -> Result<Lease, String> {
        let request = Request::new(key)
            .ttl(TTL)
            .retry_limit(RetryLimit::Wait(PATIENCE))
            .fencing(self.is_fenced);
        self.ours.try_to_acquire(&request).await
    }

    async fn release(&self, _caller: usize, lease: Lease) -> Result<(), String> {
        lease.release().await;
        Ok(())
    }
}

/// Connects with the retry delay that it has by default, and tries for half a minute.
fn rslock(urls: &[String]) -> LockManager {
    let mut manager = LockManager::new(urls.to_vec());
    manager.set_retry(300, Duration::from_millis(200));
    manager
}

impl Locks for LockManager {
    type Held = Lock;

    async fn acquire(&self, _caller: usize, key: &str) -> Result<Lock, String> {
        let lock = self.lock(key, TTL).await;
        lock.map_err(|error| format!("not acquired: {error}"))
    }

    async fn release(&self, _caller: usize, lock: Lock) -> Result<(), String> {
        self.unlock(&lock).await;
        Ok(())
    }
}
