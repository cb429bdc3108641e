//! `SETNX`, then an expiry in a second command. (`PEXPIRE` counts in ms, and has been there as long as
//! scripts have. `EXPIRE` would do the same.)

use redis::cmd;

use crate::call::{Call, Ended, Stop};

pub(crate) async fn run(call: &mut Call) -> Result<Ended, Stop> {
    let is_set: bool = call.send(cmd("SETNX").arg(call.key()).arg("locked"))?;
    if !is_set {
        return Ok(Ended::Refused);
    }
    call.send::<()>(cmd("PEXPIRE").arg(call.key()).arg(call.ttl_ms()))?;
    call.body(None).await?;
    call.send::<()>(cmd("DEL").arg(call.key()))?;
    Ok(Ended::Done)
}
