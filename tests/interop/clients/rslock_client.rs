//! rslock, driven by lines: `src/lib.rs` has the protocol.
//!
//! `rslock_client URL…`

use std::fs::OpenOptions;
use std::io::{BufRead as _, Write as _};
use std::time::{Duration, Instant};

use rslock::{Lock, LockError, LockManager};

struct Client {
    manager: LockManager,
    once: LockManager,
    lock: Option<Lock>,
}

fn ms(text: &str) -> Duration {
    Duration::from_millis(text.parse().expect("a time in ms"))
}

impl Client {
    async fn run(&mut self, line: &str) -> Result<String, LockError> {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["try", key, ttl] => self.lock = Some(self.once.lock(key, ms(ttl)).await?),
            ["hold", key, ttl] => {
                self.lock = Some(self.manager.acquire_no_guard(key, ms(ttl)).await?);
            }
            ["extend", ttl] => {
                let lock = self.lock.as_ref().expect("a lock");
                self.lock = Some(self.once.extend(lock, ms(ttl)).await?);
            }
            ["release"] => self.lock.take().expect("a lock").release().await,
            ["contend", key, ttl, time, journal] => {
                let turns = self.contend(key, ms(ttl), ms(time), journal).await;
                return Ok(turns.to_string());
            }
            _ => panic!("{line}"),
        }
        Ok(String::new())
    }

    async fn contend(&self, key: &str, ttl: Duration, time: Duration, journal: &str) -> u32 {
        let log = OpenOptions::new().append(true).create(true).open(journal);
        let mut log = log.expect("a journal");
        let mut line = |text: String| log.write_all(text.as_bytes()).expect("it is written");
        let began = Instant::now();
        let mut turns = 0;
        while began.elapsed() < time {
            // The client's own three attempts, 0 to 200 ms apart.
            let Ok(lock) = self.manager.lock(key, ttl).await else {
                continue;
            };
            turns += 1;
            let id = format!("rslock-{turns}");
            line(format!("enter {id}\n"));
            tokio::time::sleep(Duration::from_millis(2)).await;
            line(format!("leave {id}\n"));
            lock.release().await;
        }
        turns
    }
}

#[tokio::main]
async fn main() {
    let urls: Vec<_> = std::env::args().skip(1).collect();
    let mut client = Client {
        manager: LockManager::new(urls.clone()),
        once: LockManager::new(urls),
        lock: None,
    };
    client.once.set_retry(1, Duration::from_millis(1));
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match client.run(&line).await {
            Ok(answer) => println!("ok {answer}"),
            Err(LockError::Unavailable) => println!("refused {}", LockError::Unavailable),
            Err(error) => println!("error {error}"),
        }
    }
}
