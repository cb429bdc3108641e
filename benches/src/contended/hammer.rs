//! Tasks that take the key, hold it, and give it back, one time after the other.

use std::time::Duration;

use super::{Hold, Log, Turn};
use crate::clock::now;
use crate::contender::{Contender, Unlocked};

/// Lets the tasks of one process loose, until all have had the key that they asked for before the
/// end of the turn.
pub(crate) async fn hammer(contender: &Contender, turn: &Turn) -> Log {
    let tasks: Vec<_> = (0..turn.tasks)
        .map(|task| tokio::spawn(one(task, contender.clone(), turn.clone())))
        .collect();
    let mut log = Log::default();
    for task in tasks {
        log.add(task.await.expect("a task that does not panic"));
    }
    log
}

async fn one(task: usize, contender: Contender, turn: Turn) -> Log {
    let mut log = Log::default();
    loop {
        let asked = now();
        if asked >= turn.window.end {
            return log;
        }
        let held = match contender.acquire(&turn.key, turn.retry_delay).await {
            Ok(held) => held,
            Err(error) => {
                log.refused += 1;
                log.first_error.get_or_insert(error);
                continue;
            }
        };
        let acquired = now();
        critical_section(turn.hold).await;
        log.holds.push(Hold {
            task,
            asked,
            acquired,
            releasing: now(),
        });
        match held.release().await {
            Ok(Unlocked::Confirmed) => {}
            Ok(Unlocked::Unconfirmed) => log.unconfirmed += 1,
            Err(error) => {
                log.failures += 1;
                log.first_error.get_or_insert(error);
            }
        }
        if !turn.pause.is_zero() {
            tokio::time::sleep(turn.pause).await;
        }
    }
}

async fn critical_section(hold: Duration) {
    if hold.is_zero() {
        // Others get a chance to be inside at the same time.
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep(hold).await;
    }
}
