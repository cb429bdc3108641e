//! A ttl that is over before the work is.

use std::error::Error;

use crate::caller::Caller;
use crate::faults::Cell;
use crate::report::{End, Report};
use crate::scene::{FULL, SHORT, Scene, order};

const KEY: &str = "account:7";

/// A's body waits past its ttl. B takes the lock; then A's body ends, and C tries.
pub(crate) async fn overrun(scene: &Scene<'_>) -> Result<Cell, Box<dyn Error>> {
    let mut a = scene.caller("A").await?;
    let mut b = scene.caller("B").await?;
    let mut c = scene.caller("C").await?;
    a.enter(order(KEY, SHORT)).await?;
    b.enter(order(KEY, FULL)).await?;
    let is_a_inside = a.is_inside().await?;
    if is_a_inside {
        a.end().await?;
    }
    let is_c_in = c.gets_in(order(KEY, FULL)).await?;
    if !b.is_inside().await? {
        return Err("B's lock has not ended, and its body has".into());
    }
    Ok(match (is_a_inside, is_c_in) {
        (false, false) => Cell::survived("A's body was cancelled at its deadline, before B came"),
        (true, false) => Cell::of(
            "A+B",
            "A's body went on beside B's; A's release left B's lock alone",
        ),
        (_, true) => Cell::of(
            "A+B, B+C",
            "A's body went on beside B's; A's release deleted B's lock, and C got in beside B",
        ),
    })
}

/// What is written to, under the lock. It takes a write with no token, or with one that is no lower
/// than the highest that it has seen.
#[derive(Default)]
struct Store {
    last: Option<&'static str>,
    highest: u64,
}

impl Store {
    fn takes(&mut self, name: &'static str, token: u64) -> bool {
        let is_late = token > 0 && token < self.highest;
        if !is_late {
            self.highest = token.max(self.highest);
            self.last = Some(name);
        }
        !is_late
    }
}

/// A stands still between its last check and its write, inside one poll. B comes, writes and goes.
pub(crate) async fn pause(scene: &Scene<'_>) -> Result<Cell, Box<dyn Error>> {
    let mut store = Store::default();
    let mut a = about_to_write(scene).await?;
    let mut b = scene.caller("B").await?;
    b.enter(order(KEY, FULL)).await?;
    b.tell("write").await?;
    b.report().await?;
    let (of_b, _) = write(&mut b, &mut store).await?;
    let (of_a, end) = write(&mut a, &mut store).await?;
    if store.last == Some("A") {
        let why = "A's write came behind B's, and the store took it: B's is undone";
        return Ok(Cell::of("undone", why));
    }
    if end != End::Fenced {
        return Err(format!("A's write is not there, and A says {end:?}").into());
    }
    let why = format!("the store refused A's token {of_a}, as it had seen B's, {of_b}");
    Ok(Cell::survived(why))
}

/// A, stopped before its write.
async fn about_to_write(scene: &Scene<'_>) -> Result<Caller, Box<dyn Error>> {
    loop {
        let mut a = scene.caller("A").await?;
        a.enter(order(KEY, SHORT)).await?;
        a.tell("write").await?;
        match a.report().await? {
            Report::AboutToWrite => return Ok(a),
            // On a busy machine its time is over before it is told.
            Report::Ended(End::Lost(_)) => {}
            other => return Err(format!("A was to write: `{other}`").into()),
        }
    }
}

/// Lets a caller write. Returns the token that it showed, and how its attempt ended.
async fn write(caller: &mut Caller, store: &mut Store) -> Result<(u64, End), Box<dyn Error>> {
    caller.tell("go").await?;
    let report = caller.report().await?;
    let Report::Writes { token } = report else {
        return Err(format!("{} was to write: `{report}`", caller.name).into());
    };
    let answer = if store.takes(caller.name, token) {
        "taken"
    } else {
        "refused"
    };
    Ok((token, caller.finish(answer).await?))
}
