//! A client in Rust that obeys `measure`: the benchmark program, started again with a hidden argument.

use std::io;
use std::process::{self, Command};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use redlock_core::Request;
use redlock_core::request::{Kind as LockKind, RetryLimit};
use tokio::runtime::Runtime;

use super::Measured;
use crate::clock::{Moment, now};
use crate::contender::{Contender, Held, Kind, Ours, keep};

/// The argument that makes a benchmark such a program; the system's name and the URLs of its servers follow.
const ARGUMENT: &str = "--measure-this-system";

/// Of every lock; far beyond the time for which a caller holds it.
const TTL: Duration = Duration::from_secs(10);

/// How long a caller of ours tries. The others have no bound, or half a minute too.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the command line asks for.
#[derive(Debug)]
pub struct Program {
    /// The system's name.
    pub system: String,
    /// Its servers.
    pub urls: Vec<String>,
}

/// What this process has to be, if the command line says that it is a program of a peer.
pub fn program() -> Option<Program> {
    let mut arguments = std::env::args().skip(1);
    (arguments.next()? == ARGUMENT).then_some(())?;
    Some(Program {
        system: arguments.next()?,
        urls: arguments.collect(),
    })
}

/// The command that starts this very benchmark as the program of a system; the URLs follow.
pub(super) fn command(system: &str) -> Command {
    let this = std::env::current_exe().expect("a path to this program");
    let mut command = Command::new(this);
    command.arg(ARGUMENT).arg(system);
    command
}

/// A client with callers, which wait for a lock in the client's own way.
pub trait Locks: Send + Sync + 'static {
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

/// Obeys the lines of the input, until it ends.
pub fn serve(runtime: &Runtime, locks: impl Locks) {
    let locks = Arc::new(locks);
    let (lines, taken) = mpsc::channel::<String>();
    thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
        // The benchmark is gone, also if callers still wait.
        process::exit(0);
    });
    for line in taken {
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
        let mut calls = Measured::default();
        for caller in callers {
            calls.add(
                runtime
                    .block_on(caller)
                    .expect("a caller that does not panic"),
            );
        }
        let calls = serde_json::to_string(&calls).expect("no map");
        println!("ok {calls}");
    }
}

async fn call(locks: Arc<impl Locks>, caller: usize, key: String, end: Moment) -> Measured {
    let mut calls = Measured::default();
    loop {
        let asked = now();
        if asked >= end {
            return calls;
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
            Ok(call) => calls.calls.push(call),
            Err(error) => {
                calls.failures += 1;
                calls.first_failure.get_or_insert(error);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

/// Ours and `rslock`, on Redis; `None` if the system is another one.
pub fn serve_on_redis(runtime: &Runtime, program: &Program) -> Option<()> {
    let urls = &program.urls;
    let ours = Ours::connect(urls, Duration::from_secs(1));
    match &*program.system {
        "redlock" => serve(runtime, OnRedis::Ours(runtime.block_on(ours), false)),
        "redlock, fenced" => serve(runtime, OnRedis::Ours(runtime.block_on(ours), true)),
        "rslock" => {
            let rslock = runtime.block_on(Contender::connect(Kind::Rslock, urls));
            serve(runtime, OnRedis::Rslock(rslock));
        }
        _ => return None,
    }
    Some(())
}

enum OnRedis {
    /// With or without a fencing token.
    Ours(Ours, bool),
    Rslock(Contender),
}

impl Locks for OnRedis {
    type Held = Held;

    async fn acquire(&self, _caller: usize, key: &str) -> Result<Held, String> {
        match self {
            Self::Ours(ours, is_fenced) => {
                let request = Request::new(key)
                    .ttl(TTL)
                    .retry_limit(RetryLimit::Wait(PATIENCE))
                    .fencing(*is_fenced);
                ours.try_to_acquire(&request).await.map(Held::Ours)
            }
            // With the delay that it has by default.
            Self::Rslock(rslock) => {
                let delay = Duration::from_millis(200);
                rslock.acquire(key, LockKind::Plain, delay).await
            }
        }
    }

    async fn release(&self, _caller: usize, held: Held) -> Result<(), String> {
        held.release().await.map(|_| ())
    }
}
