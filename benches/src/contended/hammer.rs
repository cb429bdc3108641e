//! Tasks that repeatedly take the key, hold it, and release it.

use std::time::Duration;

use super::{Hold, Lock, Log, Turn};
use crate::clock::{Moment, now};
use crate::contender::{Contender, Unlocked};
use crate::stats::whole;

/// Lets the tasks of the process `place` loose, until all have had the key that they asked for before the
/// end of the turn.
pub(crate) async fn hammer(contender: &Contender, turn: &Turn, place: usize) -> Log {
    let tasks: Vec<_> = (0..turn.crowds[place])
        .map(|task| tokio::spawn(one(task, contender.clone(), turn.clone())))
        .collect();
    let mut log = Log::default();
    for task in tasks {
        log.add(task.await.expect("a task that does not panic"));
    }
    log
}

/// Keeps a lock for this time. Others get a chance to be inside at the same time, also if it is zero.
pub async fn keep(hold: Duration) {
    if hold.is_zero() {
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep(hold).await;
    }
}

/// Waits until a task has its first turn.
async fn begin(task: usize, turn: &Turn) {
    let delay = match turn.lock {
        Lock::Plain | Lock::Permit(_) => return,
        // At any moment a reader is about to leave, and another reader has just come.
        Lock::Read => turn.hold.mul_f64(whole(task) / whole(turn.crowds[0])),
        Lock::Write | Lock::PlainWrite => until(turn.window.begin),
    };
    tokio::time::sleep(delay).await;
}

fn until(moment: Moment) -> Duration {
    Duration::from_nanos(moment.saturating_sub(now()))
}

async fn one(task: usize, contender: Contender, turn: Turn) -> Log {
    let mut log = Log::default();
    begin(task, &turn).await;
    loop {
        let asked = now();
        if asked >= turn.window.end {
            return log;
        }
        match contender.acquire(&turn).await {
            Ok(held) => {
                let acquired = now();
                let permit = held.permit();
                keep(turn.hold).await;
                let releasing = now();
                match held.release().await {
                    Ok(Unlocked::Confirmed) => {}
                    Ok(Unlocked::Unconfirmed) => log.unconfirmed += 1,
                    Err(error) => {
                        log.failures += 1;
                        log.first_error.get_or_insert(error);
                    }
                }
                log.holds.push(Hold {
                    task,
                    permit,
                    asked,
                    acquired,
                    releasing,
                    released: now(),
                });
            }
            Err(error) => {
                log.refused += 1;
                log.first_error.get_or_insert(error);
            }
        }
        pause(&turn).await;
    }
}

/// Stays away from the lock. A writer comes back at a random moment of the readers.
async fn pause(turn: &Turn) {
    if !turn.pause.is_zero() {
        let pause = match turn.lock {
            Lock::Write | Lock::PlainWrite => turn.pause.mul_f64(rand::random_range(0.5..1.5)),
            _ => turn.pause,
        };
        tokio::time::sleep(pause).await;
    }
}
