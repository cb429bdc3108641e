//! The key never expires. Its value is the time, by the holder's clock, at which the lock may be taken
//! over. `GETSET` decides which of several callers takes it over: the caller that gets the old time.

use redis::cmd;

use crate::call::{Call, Ended, Stop};

pub(crate) async fn run(call: &mut Call) -> Result<Ended, Stop> {
    let until = call.now_ms() + call.ttl_ms();
    let is_set: bool = call.send(cmd("SETNX").arg(call.key()).arg(until))?;
    if !is_set {
        let found: Option<u64> = call.send(cmd("GET").arg(call.key()))?;
        // No time: the key was deleted meanwhile, and the caller may begin again.
        if found.is_none_or(|found| found >= call.now_ms()) {
            return Ok(Ended::Refused);
        }
        let until = call.now_ms() + call.ttl_ms();
        let old: Option<u64> = call.send(cmd("GETSET").arg(call.key()).arg(until))?;
        // Another caller's `GETSET` was faster, or the key was deleted meanwhile.
        if old.is_none_or(|old| old >= call.now_ms()) {
            return Ok(Ended::Refused);
        }
        return held(call, until).await;
    }
    held(call, until).await
}

async fn held(call: &mut Call, until: u64) -> Result<Ended, Stop> {
    call.body(None).await?;
    // Behind its time the lock may be another's.
    if call.now_ms() < until {
        call.send::<()>(cmd("DEL").arg(call.key()))?;
    }
    Ok(Ended::Done)
}
