//! The value says whose lock it is: the time at which it was taken, by the holder's clock. A holder
//! deletes the key if it has its own time in it.

use redis::cmd;

use crate::call::{Call, Ended, Stop};

pub(crate) async fn run(call: &mut Call) -> Result<Ended, Stop> {
    let taken_at = call.now_ms();
    let (key, ttl) = (call.key(), call.ttl_ms());
    let set: Option<String> = call.send(
        cmd("SET")
            .arg(key)
            .arg(taken_at)
            .arg("NX")
            .arg("PX")
            .arg(ttl),
    )?;
    if set.is_none() {
        return Ok(Ended::Refused);
    }
    let outcome = call.body(None).await;
    let found: Option<u64> = call.send(cmd("GET").arg(call.key()))?;
    if found == Some(taken_at) {
        call.send::<()>(cmd("DEL").arg(call.key()))?;
    }
    outcome?;
    Ok(Ended::Done)
}
