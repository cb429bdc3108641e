//! The value is drawn for each attempt, so that no two holders ever have one. A script compares it and
//! deletes the key, in one step.

use std::fs::File;
use std::io::Read as _;

use redis::cmd;

use crate::call::{Call, Ended, Stop};

const UNLOCK: &str = "
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0
";

pub(crate) async fn run(call: &mut Call) -> Result<Ended, Stop> {
    let value = draw()?;
    let (key, ttl) = (call.key(), call.ttl_ms());
    let set: Option<String> = call.send(
        cmd("SET")
            .arg(key)
            .arg(&value[..])
            .arg("NX")
            .arg("PX")
            .arg(ttl),
    )?;
    if set.is_none() {
        return Ok(Ended::Refused);
    }
    let outcome = call.body(None).await;
    call.send::<()>(
        cmd("EVAL")
            .arg(UNLOCK)
            .arg(1)
            .arg(call.key())
            .arg(&value[..]),
    )?;
    outcome?;
    Ok(Ended::Done)
}

fn draw() -> std::io::Result<[u8; 16]> {
    let mut value = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut value)?;
    Ok(value)
}
