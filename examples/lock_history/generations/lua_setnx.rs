//! `SETNX` and the expiry in one script, for servers whose `SET` has no `NX`. Only a holder deletes the
//! key, whether its body failed or not.

use redis::cmd;

use crate::call::{Call, Ended, Stop};

const LOCK: &str = "
if redis.call('SETNX', KEYS[1], 'locked') == 1 then
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
    return 1
end
return 0
";

pub(crate) async fn run(call: &mut Call) -> Result<Ended, Stop> {
    let (key, ttl) = (call.key(), call.ttl_ms());
    let is_set: bool = call.send(cmd("EVAL").arg(LOCK).arg(1).arg(key).arg(ttl))?;
    if !is_set {
        return Ok(Ended::Refused);
    }
    let outcome = call.body(None).await;
    call.send::<()>(cmd("DEL").arg(call.key()))?;
    outcome?;
    Ok(Ended::Done)
}
