//! Servers that die or forget.

use std::error::Error;

use crate::caller::{Attempt, Caller};
use crate::faults::Cell;
use crate::report::End;
use crate::scene::{FULL, Scene, order};

const KEY: &str = "account:7";

/// The first server's replica takes its place, and lacks A's lock. (If there are three servers, A's
/// majority is the first and the second one.)
pub(crate) async fn failover(mut scene: Scene<'_>) -> Result<Cell, Box<dyn Error>> {
    if !scene.servers.has_replica() {
        let why = "there is one server, and no replica that could take its place";
        return Ok(Cell::not_applicable(why));
    }
    // What a first caller leaves on the servers is replicated.
    let mut a = scene.caller_cut_off("A").await?;
    scene.servers.cut_replica_off().await?;
    a.enter(order(KEY, FULL)).await?;
    scene.servers.fail_over().await?;
    beside(&scene, a, "the promoted replica lacks A's lock").await
}

/// The first server forgets A's lock.
pub(crate) async fn node_empty(mut scene: Scene<'_>) -> Result<Cell, Box<dyn Error>> {
    let mut a = scene.caller_cut_off("A").await?;
    a.enter(order(KEY, FULL)).await?;
    scene.servers.restart_empty().await?;
    beside(&scene, a, "the restarted server lacks A's lock").await
}

/// Whether B gets in while A's body runs.
async fn beside(scene: &Scene<'_>, mut a: Caller, what: &str) -> Result<Cell, Box<dyn Error>> {
    let mut b = scene.caller("B").await?;
    Ok(match b.attempt(order(KEY, FULL)).await? {
        Attempt::In if a.is_inside().await? => {
            Cell::of("A+B", format!("{what}, and B got in beside A"))
        }
        Attempt::In => Cell::survived(format!("{what}; A's body was cancelled before B came")),
        Attempt::Refused => Cell::survived(format!("{what}, and B is refused")),
        Attempt::Down(why) => Cell::survived(format!("{what}, and B is refused: {why}")),
    })
}

/// One server dies. The lock has to work without it.
pub(crate) async fn node_down(mut scene: Scene<'_>) -> Result<Cell, Box<dyn Error>> {
    // The servers have been in use.
    let mut earlier = scene.caller("A").await?;
    earlier.enter(order(KEY, FULL)).await?;
    earlier.end().await?;
    scene.servers.lose_one().await?;
    if let Err(error) = scene.servers.now_ms() {
        let why = format!("nobody gets the lock: {error}");
        return Ok(Cell::of("down", why));
    }
    let (mut a, mut b) = (scene.caller("A").await?, scene.caller("B").await?);
    a.enter(order(KEY, FULL)).await?;
    if b.gets_in(order(KEY, FULL)).await? {
        return Ok(Cell::of("A+B", "the servers that are left let A and B in"));
    }
    if a.end().await? != End::Done {
        return Err("A's lock was not A's at the end of its body".into());
    }
    // The dead server is free of A's lock as soon as it is asked: a release that is sure of a majority
    // may still be on its way to one of those that are left.
    b.enter(order(KEY, FULL)).await?;
    Ok(Cell::survived(
        "the servers that are left let one in, and behind it the next one",
    ))
}
