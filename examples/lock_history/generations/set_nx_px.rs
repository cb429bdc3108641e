//! Key and expiry in one command, and a plain `DEL` behind the body.

use redis::cmd;

use crate::call::{Call, Ended, Stop};

pub(crate) async fn run(call: &mut Call) -> Result<Ended, Stop> {
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
    call.send::<()>(cmd("DEL").arg(call.key()))?;
    Ok(Ended::Done)
}
