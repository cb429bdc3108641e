//! Tasks that take the key, hold it, and give it back, one time after the other.

use redlock_core::request::Kind as LockKind;

use super::{Hold, Log, Turn};
use crate::clock::now;
use crate::contender::{Contender, Unlocked, keep};

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
    let kind = if turn.reads {
        // At any moment a reader is about to leave, and another reader has just come.
        let share =
            u32::try_from(task).unwrap_or(0) * turn.hold / u32::try_from(turn.tasks).unwrap_or(1);
        tokio::time::sleep(share).await;
        LockKind::Read
    } else {
        LockKind::Exclusive
    };
    loop {
        let asked = now();
        if asked >= turn.window.end {
            return log;
        }
        let held = match contender.acquire(&turn.key, kind, turn.retry_delay).await {
            Ok(held) => held,
            Err(error) => {
                log.refused += 1;
                log.first_error.get_or_insert(error);
                continue;
            }
        };
        let acquired = now();
        keep(turn.hold).await;
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
