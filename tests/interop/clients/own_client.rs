//! This library as another process: `own_client CONFIG CALLERS` reads the configuration file, and obeys
//! `contend KEY TTL MS JOURNAL` with this number of callers, as `src/lib.rs` says.

use std::io::BufRead as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use redlock_runtime::{Config, lock};
use redlock_tests::CriticalLog;

fn ms(text: &str) -> Duration {
    Duration::from_millis(text.parse().expect("a time in ms"))
}

async fn contend(
    who: String,
    key: String,
    ttl: Duration,
    time: Duration,
    journal: Arc<CriticalLog>,
) -> u32 {
    let began = Instant::now();
    let mut turns = 0;
    while began.elapsed() < time {
        let lease = lock(key.clone()).ttl(ttl).wait(Duration::from_secs(5));
        let Ok(lease) = lease.acquire().await else {
            continue;
        };
        turns += 1;
        let id = format!("{who}-{turns}");
        journal.enter(&id);
        tokio::time::sleep(Duration::from_millis(2)).await;
        journal.leave(&id);
        lease.release().await;
    }
    turns
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let config = arguments.next().expect("a file");
    let callers: usize = arguments
        .next()
        .and_then(|it| it.parse().ok())
        .expect("a number");
    let config = Config::new().with_file(config).expect("a configuration");
    let redlock = redlock_runtime::init(config).await.expect("it starts");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<_> = line.split(' ').collect();
        let ["contend", key, ttl, time, journal] = words[..] else {
            panic!("{line}");
        };
        let journal = Arc::new(CriticalLog::open(journal));
        let callers: Vec<_> = (0..callers)
            .map(|caller| {
                let (who, journal) = (format!("own-{caller}"), Arc::clone(&journal));
                tokio::spawn(contend(who, key.to_owned(), ms(ttl), ms(time), journal))
            })
            .collect();
        let mut turns = 0;
        for caller in callers {
            turns += caller.await.expect("no panic");
        }
        println!("ok {turns}");
    }
    redlock.shutdown().await;
}
