//! Callers whose clocks show the same.

use std::error::Error;

use crate::call;
use crate::caller::{Attempt, Caller, Order};
use crate::faults::Cell;
use crate::report::Report;
use crate::scene::{FULL, SHORT, Scene};

/// The clocks of A and B stand still at one time.
pub(crate) async fn equal_times(scene: &Scene<'_>) -> Result<Cell, Box<dyn Error>> {
    let now = call::wall_clock_ms();
    let mut probe = scene.caller("A").await?;
    let reads = reads_of_clock(&mut probe, now).await?;
    if reads == 0 {
        let why = "it asks no clock of a caller's host for what it puts on a server";
        return Ok(Cell::not_applicable(why));
    }
    if let Some(cell) = race(scene, now).await? {
        return Ok(cell);
    }
    late_release(scene, now).await
}

/// How often an attempt asks the clock until its body begins.
async fn reads_of_clock(caller: &mut Caller, now: u64) -> Result<u32, Box<dyn Error>> {
    let order = Order {
        key: "account:probe",
        ttl: FULL,
        clock: Some(now),
    };
    match caller.begin(order).await? {
        mut at @ Report::Before(_) => {
            while matches!(at, Report::Before(_)) {
                at = caller.go(&at).await?;
            }
            clock_reads(&at)
        }
        at => clock_reads(&at),
    }
}

fn clock_reads(at: &Report) -> Result<u32, Box<dyn Error>> {
    match at {
        Report::Inside { clock_reads, .. } => Ok(*clock_reads),
        other => Err(format!("a free lock was not taken: `{other}`").into()),
    }
}

/// A and B want a lock that a crashed caller left. B comes before each of A's commands.
async fn race(scene: &Scene<'_>, now: u64) -> Result<Option<Cell>, Box<dyn Error>> {
    let short = u64::try_from(SHORT.as_millis())?;
    for stops in 0.. {
        let key = format!("account:race:{stops}");
        let mut left = scene.caller("crashed").await?;
        let earlier = Order {
            key: &key,
            ttl: SHORT,
            clock: Some(now - 2 * short),
        };
        left.enter(earlier).await?;
        let passed = scene.servers.now_ms()? + short;
        left.kill().await?;
        scene.servers.pass(passed).await?;

        let same = Order {
            key: &key,
            ttl: FULL,
            clock: Some(now),
        };
        let (mut a, mut b) = (scene.caller("A").await?, scene.caller("B").await?);
        let mut at = a.begin(same).await?;
        for _ in 0..stops {
            if matches!(at, Report::Before(_)) {
                at = a.go(&at).await?;
            }
        }
        let is_a_first = !matches!(at, Report::Before(_));
        let of_b = b.attempt(same).await?;
        let of_a = a.go_on(at).await?;
        if of_a == Attempt::In && of_b == Attempt::In {
            let why = "A and B took the lock over at the same time, and both got it";
            return Ok(Some(Cell::of("A+B", why)));
        }
        if is_a_first {
            break;
        }
    }
    Ok(None)
}

/// A's body is done in time, and its release is late. B has come meanwhile; its clock shows what A's
/// showed. C tries behind A's release.
async fn late_release(scene: &Scene<'_>, now: u64) -> Result<Cell, Box<dyn Error>> {
    let order = |ttl| Order {
        key: "account:release",
        ttl,
        clock: Some(now),
    };
    let (mut a, mut b, mut c) = (
        scene.caller("A").await?,
        scene.caller("B").await?,
        scene.caller("C").await?,
    );
    let mut at = a.begin(order(SHORT)).await?;
    while matches!(at, Report::Before(_)) {
        at = a.go(&at).await?;
    }
    let passed = scene.servers.now_ms()? + u64::try_from(SHORT.as_millis())?;
    let at = a.go(&at).await?;
    scene.servers.pass(passed).await?;
    if !b.gets_in(order(FULL)).await? {
        let why =
            "one caller gets in at one time of the clocks, and no second one before it is over";
        return Ok(Cell::survived(why));
    }
    a.go_on_to_end(at).await?;
    if c.gets_in(order(FULL)).await? && b.is_inside().await? {
        let why =
            "A's late release found A's own time in B's lock, and deleted it: C got in beside B";
        return Ok(Cell::of("B+C", why));
    }
    Ok(Cell::survived("A's late release left B's lock alone"))
}
