//! What is left on the servers by callers that crashed or failed.

use std::error::Error;

use tokio::time::sleep;

use crate::caller::{Attempt, Caller, Order};
use crate::faults::Cell;
use crate::report::{End, Report};
use crate::scene::{FULL, SHORT, Scene, order};
use crate::servers::LOOK;

/// After this number of ttls, a lock that is not free stays as it is.
const TTLS: u64 = 3;

/// A is killed at each of its stops. Somebody else has to get the lock within some ttls.
pub(crate) async fn crash(scene: &Scene<'_>) -> Result<Cell, Box<dyn Error>> {
    let mut stops = Vec::new();
    loop {
        let key = format!("account:{}", stops.len());
        let mut a = scene.caller("A").await?;
        let Some(stop) = advance(&mut a, order(&key, SHORT), stops.len()).await? else {
            let stops = stops.join(", ");
            let why = format!("free within {TTLS} ttls after a crash {stops}");
            return Ok(Cell::survived(why));
        };
        a.kill().await?;
        let stop = match stop {
            Report::Before(command) => format!("before {command}"),
            _ => "in the body".to_owned(),
        };
        if !is_freed(scene, order(&key, SHORT)).await? {
            let left = scene.servers.pttl(&key)?;
            let why = format!(
                "A crashed {stop}: {TTLS} ttls later the lock is not free, and PTTL says {left}"
            );
            return Ok(Cell::of("stuck", why));
        }
        stops.push(stop);
    }
}

/// Whether a caller gets in. It tries until some ttls have passed by the server's clock, and then
/// once more.
async fn is_freed(scene: &Scene<'_>, order: Order<'_>) -> Result<bool, Box<dyn Error>> {
    let ttl = u64::try_from(order.ttl.as_millis())?;
    let until = scene.servers.now_ms()? + TTLS * ttl;
    let mut b = scene.caller("B").await?;
    loop {
        let is_last = scene.servers.now_ms()? > until;
        match b.attempt(order).await? {
            Attempt::In => return Ok(true),
            Attempt::Refused if is_last => return Ok(false),
            Attempt::Refused | Attempt::Down(_) => sleep(LOOK).await,
        }
    }
}

/// Lets a caller begin and pass this number of stops. Returns the stop that it is at then; `None` if its
/// attempt has ended before.
async fn advance(
    caller: &mut Caller,
    order: Order<'_>,
    stops: usize,
) -> Result<Option<Report>, Box<dyn Error>> {
    loop {
        let mut at = caller.begin(order).await?;
        for _ in 0..stops {
            if matches!(at, Report::Ended(_)) {
                break;
            }
            at = caller.go(&at).await?;
        }
        // On a busy machine a short ttl may be over before the body begins.
        let is_late = |at: &Report| matches!(at, Report::Ended(End::Down(_) | End::Lost(_)));
        if stops == 0 && is_late(&at) {
            continue;
        }
        return Ok((!matches!(at, Report::Ended(_))).then_some(at));
    }
}

/// A's body fails. B has to get the lock at once.
pub(crate) async fn failure(scene: &Scene<'_>) -> Result<Cell, Box<dyn Error>> {
    let order = order("account:7", FULL);
    let mut a = scene.caller("A").await?;
    a.enter(order).await?;
    a.finish("fail").await?;
    if scene.caller("B").await?.gets_in(order).await? {
        return Ok(Cell::survived("A's failed body is followed by its release"));
    }
    let why = "A has gone on without a release: the lock is nobody's, and stays for the whole ttl";
    Ok(Cell::of("waits", why))
}
