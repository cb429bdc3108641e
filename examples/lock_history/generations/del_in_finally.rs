//! `try { if (lock()) { body(); } } finally { unlock(); }`: the `DEL` follows a body that failed, and
//! also an attempt that was refused.

use redis::cmd;

use crate::call::{Call, Ended, Stop};

pub(crate) async fn run(call: &mut Call) -> Result<Ended, Stop> {
    let tried = try_block(call).await;
    call.send::<()>(cmd("DEL").arg(call.key()))?;
    tried
}

async fn try_block(call: &mut Call) -> Result<Ended, Stop> {
    let (key, ttl) = (call.key(), call.ttl_ms());
    let set: Option<String> = call.send(
        cmd("SET")
            .arg(key)
            .arg("locked")
            .arg("NX")
            .arg("PX")
            .arg(ttl),
    )?;
    if set.is_none() {
        return Ok(Ended::Refused);
    }
    call.body(None).await?;
    Ok(Ended::Done)
}
