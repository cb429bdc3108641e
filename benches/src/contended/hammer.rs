//! Tasks that repeatedly take the key, hold it, and release it.

use redlock_core::request::Kind as LockKind;

use super::{Hold, Lock, Log, Turn};
use crate::clock::now;
use crate::contender::{Contender, Unlocked, keep};
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

async fn one(task: usize, contender: Contender, turn: Turn) -> Log {
    let mut log = Log::default();
    let kind = match turn.lock {
        Lock::Plain => LockKind::Plain,
        Lock::Permit(count) => LockKind::Permits(count),
        Lock::Read => {
            // At any moment a reader is about to leave, and another reader has just come.
            let part = whole(task) / whole(turn.crowds[0]);
            tokio::time::sleep(turn.hold.mul_f64(part)).await;
            LockKind::Read
        }
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
            permit: held.permit(),
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
