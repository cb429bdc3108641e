//! The lock's generations, the oldest first. Each function is one attempt, and the work under the lock if it won.

use std::fs::File;
use std::io::Read as _;
use std::time::Duration;

use redlock_runtime::lock;
use redlock_runtime::parameters::LockOptions;

use crate::attempt::{Attempt, Outcome};

/// The servers that a generation is used with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setup {
    Single,
    /// A master with a replica that takes its place.
    Replicated,
    /// Three servers that know nothing of each other.
    Three,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    SetnxExpire,
    SetnxGetset,
    SetNxPx,
    DelInFinally,
    Script,
    Timestamp,
    Unique,
    Unchecked,
    Redlock,
    Fenced,
}

/// An implementation on its servers.
#[derive(Clone, Copy)]
pub(crate) struct Generation {
    pub(crate) name: &'static str,
    pub(crate) code: Code,
    pub(crate) setup: Setup,
}

#[rustfmt::skip]
pub(crate) const ALL: [Generation; 11] = [
    of("`SETNX`, then `EXPIRE`", Code::SetnxExpire, Setup::Single),
    of("`SETNX` and `GETSET` of timestamps", Code::SetnxGetset, Setup::Single),
    of("`SET NX PX`, then `DEL`", Code::SetNxPx, Setup::Single),
    of("the same, `DEL` in `finally`", Code::DelInFinally, Setup::Single),
    of("`SETNX` and `EXPIRE` in a script", Code::Script, Setup::Single),
    of("a timestamp as the value", Code::Timestamp, Setup::Single),
    of("a unique value, compare and delete", Code::Unique, Setup::Single),
    of("the same with a replica", Code::Unique, Setup::Replicated),
    of("Redlock without a restart check", Code::Unchecked, Setup::Three),
    of("Redlock", Code::Redlock, Setup::Three),
    of("Redlock with fencing", Code::Fenced, Setup::Three),
];

const fn of(name: &'static str, code: Code, setup: Setup) -> Generation {
    Generation { name, code, setup }
}

impl Generation {
    pub(crate) async fn run(self, attempt: &Attempt) -> Outcome {
        match self.code {
            Code::SetnxExpire => setnx_expire(attempt).await,
            Code::SetnxGetset => setnx_getset(attempt).await,
            Code::SetNxPx => set_nx_px(attempt).await,
            Code::DelInFinally => del_in_finally(attempt).await,
            Code::Script => script(attempt).await,
            Code::Timestamp => timestamp(attempt).await,
            Code::Unique => unique(attempt).await,
            Code::Unchecked | Code::Redlock | Code::Fenced => {
                redlock(attempt, self.code == Code::Fenced).await
            }
        }
    }
}

/// Sets the expiry in a second command. (`PEXPIRE` counts in ms. `EXPIRE` would do the same.)
async fn setnx_expire(attempt: &Attempt) -> Outcome {
    attempt.take(&["SETNX", &attempt.key, "locked"])?;
    attempt.send::<()>(&["PEXPIRE", &attempt.key, &attempt.ttl_ms.to_string()])?;
    attempt.body(0).await?;
    attempt.send(&["DEL", &attempt.key])
}

/// Writes the time, by the holder's clock, from which the lock may be taken over. The key itself never expires.
/// `GETSET` decides between callers that take it over: the one that gets the old time wins.
async fn setnx_getset(attempt: &Attempt) -> Outcome {
    let mut until = attempt.now_ms() + attempt.ttl_ms;
    if !attempt.send(&["SETNX", &attempt.key, &until.to_string()])? {
        let found: Option<u64> = attempt.send(&["GET", &attempt.key])?;
        // If there is no time, the key was deleted meanwhile, and the caller may begin again.
        if found.is_none_or(|found| found >= attempt.now_ms()) {
            return Err("refused".to_owned());
        }
        until = attempt.now_ms() + attempt.ttl_ms;
        let old: Option<u64> = attempt.send(&["GETSET", &attempt.key, &until.to_string()])?;
        if old.is_none_or(|old| old >= attempt.now_ms()) {
            return Err("refused".to_owned());
        }
    }
    attempt.body(0).await?;
    // Past its time the lock may be another's.
    if attempt.now_ms() < until {
        attempt.send::<()>(&["DEL", &attempt.key])?;
    }
    Ok(())
}

/// Sets key and expiry in one command, and deletes the key after the body.
async fn set_nx_px(attempt: &Attempt) -> Outcome {
    set(attempt, "locked")?;
    attempt.body(0).await?;
    attempt.send(&["DEL", &attempt.key])
}

/// `try { if (lock()) body(); } finally { unlock(); }` deletes the key after a failed body, and after a refusal.
async fn del_in_finally(attempt: &Attempt) -> Outcome {
    let tried = match set(attempt, "locked") {
        Ok(()) => attempt.body(0).await,
        Err(why) => Err(why),
    };
    attempt.send::<()>(&["DEL", &attempt.key])?;
    tried
}

/// Locks in one step, on servers whose `SET` has no `NX`.
pub(crate) const SCRIPT: &str = "
if redis.call('SETNX', KEYS[1], 'locked') == 1 then
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
    return 1
end
return 0
";

/// Locks by the script. Only a holder deletes the key, whether its body failed or not.
async fn script(attempt: &Attempt) -> Outcome {
    let ttl = attempt.ttl_ms.to_string();
    attempt.take(&["EVAL", SCRIPT, "1", &attempt.key, &ttl])?;
    let outcome = attempt.body(0).await;
    attempt.send::<()>(&["DEL", &attempt.key])?;
    outcome
}

/// Says by the value whose lock it is: the time at which it was taken, by the holder's clock.
async fn timestamp(attempt: &Attempt) -> Outcome {
    let taken_at = attempt.now_ms();
    set(attempt, &taken_at.to_string())?;
    let outcome = attempt.body(0).await;
    if attempt.send::<Option<u64>>(&["GET", &attempt.key])? == Some(taken_at) {
        attempt.send::<()>(&["DEL", &attempt.key])?;
    }
    outcome
}

/// Deletes the key if it has the caller's value.
const UNLOCK: &str = "
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0
";

/// Draws a value for each attempt, so that no two holders ever have the same.
async fn unique(attempt: &Attempt) -> Outcome {
    let mut drawn = [0; 16];
    let random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut drawn));
    random.map_err(|error| format!("down: {error}"))?;
    let value = u128::from_ne_bytes(drawn).to_string();
    set(attempt, &value)?;
    let outcome = attempt.body(0).await;
    attempt.send::<()>(&["EVAL", UNLOCK, "1", &attempt.key, &value])?;
    outcome
}

/// Locks three nodes with this library.
async fn redlock(attempt: &Attempt, is_fenced: bool) -> Outcome {
    let lock = lock(attempt.key.clone())
        .ttl(Duration::from_millis(attempt.ttl_ms))
        .retry_count(0)
        .options(LockOptions::new().fencing(is_fenced));
    let body = async {
        let fenced = redlock_runtime::current_lease().and_then(|lease| lease.fenced());
        let token = fenced.map_or(0, |lease| lease.fencing_token().as_u64());
        attempt.body(token).await
    };
    match lock.run(body).await {
        Ok(of_body) => of_body,
        Err(error) if error.is_contended() => Err("refused".to_owned()),
        Err(error) if error.is_lost() => Err(format!("lost: {error}")),
        Err(error) => Err(format!("down: {error}")),
    }
}

fn set(attempt: &Attempt, value: &str) -> Outcome {
    let ttl = attempt.ttl_ms.to_string();
    attempt.take(&["SET", &attempt.key, value, "NX", "PX", &ttl])
}
