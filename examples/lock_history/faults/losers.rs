//! What callers do that are refused.

use std::error::Error;
use std::time::Duration;

use crate::caller::{Attempt, Caller, Order};
use crate::faults::Cell;
use crate::report::Report;
use crate::scene::{FULL, SHORT, Scene, order};

/// A harm in the table, and how it came about.
type Harm = (&'static str, String);

/// What became of C, which should have lost.
enum Loser {
    /// It had the lock before B came.
    First,
    Lost(Option<Harm>),
}

/// A lock was left to its ttl. B takes it, and C stops before each of its commands meanwhile: once
/// while B holds the lock, and once until B has released it.
pub(crate) async fn refusal(scene: &Scene<'_>) -> Result<Cell, Box<dyn Error>> {
    let mut marks = Vec::new();
    let mut whys = Vec::new();
    for is_released in [false, true] {
        for commands in 0.. {
            let key = format!("account:{is_released}:{commands}");
            match lose(scene, &key, commands, is_released).await? {
                Loser::First => break,
                Loser::Lost(Some((mark, why))) if !marks.contains(&mark) => {
                    marks.push(mark);
                    whys.push(why);
                }
                Loser::Lost(_) => {}
            }
        }
    }
    if marks.is_empty() {
        return Ok(Cell::survived("C changes nothing, wherever it stops"));
    }
    Ok(Cell::of(marks.join(", "), whys.join("; ")))
}

/// A caller that has stopped before a command, or has not begun.
struct Stopped<'a> {
    caller: Caller,
    order: Order<'a>,
    at: Option<Report>,
}

impl<'a> Stopped<'a> {
    /// Stops `caller` before its `command`th command; for 0, before all. `None` if it has the lock by
    /// then, or has been refused.
    async fn before(
        mut caller: Caller,
        order: Order<'a>,
        command: usize,
    ) -> Result<Option<Self>, Box<dyn Error>> {
        let mut at = None;
        for _ in 0..command {
            at = Some(match &at {
                None => caller.begin(order).await?,
                Some(at) => caller.go(at).await?,
            });
            if !matches!(at, Some(Report::Before(_))) {
                return Ok(None);
            }
        }
        Ok(Some(Self { caller, order, at }))
    }

    fn name(&self) -> String {
        match &self.at {
            Some(Report::Before(command)) => format!("C stopped before {command}"),
            _ => "C came".to_owned(),
        }
    }

    /// Lets it go on. True if it gets in.
    async fn gets_in(&mut self) -> Result<bool, Box<dyn Error>> {
        match self.at.take() {
            Some(at) => Ok(self.caller.go_on(at).await? == Attempt::In),
            None => self.caller.gets_in(self.order).await,
        }
    }
}

async fn lose(
    scene: &Scene<'_>,
    key: &str,
    commands: usize,
    is_released: bool,
) -> Result<Loser, Box<dyn Error>> {
    leave_to_its_ttl(scene, key).await?;
    // Each with a ttl of its own, so that it can be seen whose expiry is there.
    let longer = |seconds| order(key, FULL + Duration::from_secs(seconds));
    let c = Stopped::before(scene.caller("C").await?, longer(1), commands).await?;
    let e = Stopped::before(scene.caller("E").await?, longer(2), commands).await?;
    let (Some(c), Some(e)) = (c, e) else {
        return Ok(Loser::First);
    };
    let mut b = scene.caller("B").await?;
    if !b.gets_in(order(key, FULL)).await? {
        if commands == 0 {
            return Err("a lock is not free when its time has passed".into());
        }
        return Ok(Loser::First);
    }
    let harm = if is_released {
        b.end().await?;
        behind_release(scene, key, c, e).await?
    } else {
        beside_holder(scene, key, c).await?
    };
    Ok(Loser::Lost(harm))
}

/// A crashes in its body, and its time passes.
async fn leave_to_its_ttl(scene: &Scene<'_>, key: &str) -> Result<(), Box<dyn Error>> {
    let mut a = scene.caller("A").await?;
    a.enter(order(key, SHORT)).await?;
    let passed = scene.servers.now_ms()? + u64::try_from(SHORT.as_millis())?;
    a.kill().await?;
    scene.servers.pass(passed).await
}

/// C goes on while B holds the lock.
async fn beside_holder(
    scene: &Scene<'_>,
    key: &str,
    mut c: Stopped<'_>,
) -> Result<Option<Harm>, Box<dyn Error>> {
    let (name, of_b) = (c.name(), scene.servers.value(key)?);
    if c.gets_in().await? {
        return Ok(Some(("B+C", format!("{name}, and got in beside B"))));
    }
    let of_c = scene.servers.value(key)?;
    if scene.caller("D").await?.gets_in(order(key, FULL)).await? {
        let why = "C was refused, and deleted B's lock all the same: D got in beside B";
        return Ok(Some(("B+D", why.to_owned())));
    }
    if of_c != of_b {
        let why = format!("{name}, and put its own expiry in the place of B's");
        return Ok(Some(("pushed", why)));
    }
    Ok(None)
}

/// C goes on when B has released the lock. Then so does E, which stopped where C did.
async fn behind_release(
    scene: &Scene<'_>,
    key: &str,
    mut c: Stopped<'_>,
    mut e: Stopped<'_>,
) -> Result<Option<Harm>, Box<dyn Error>> {
    let name = c.name();
    // If C gets in, the lock is C's, as it should be.
    if c.gets_in().await? || scene.caller("D").await?.gets_in(order(key, FULL)).await? {
        return Ok(None);
    }
    let of_c = scene.servers.value(key)?;
    let is_in = e.gets_in().await?;
    let why = format!("{name}, B released, C went on and was refused, and so is D: nobody's lock");
    if is_in || scene.servers.value(key)? == of_c {
        return Ok(Some(("nobody's", format!("{why} stays for C's ttl"))));
    }
    let why = format!("{why} stays, and E, which stopped there too, moved its end on");
    Ok(Some(("livelock", why)))
}
