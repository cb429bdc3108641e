//! What goes wrong with the runtimes of callers; and what may not be late because of it.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::Resource;
use tokio::time::{sleep, timeout};

use crate::random::Random;

use super::hand::Hand;
use super::lending::{Runtimes, Whereabouts};
use super::log::Kind;
use super::raw::Desk;
use super::town::Shared;

/// Lets runtimes stand still and end, until it is dropped.
pub(super) async fn trouble(town: Shared, runtimes: Arc<Runtimes>, mut random: Random) {
    loop {
        sleep(Duration::from_micros(random.below(800_000))).await;
        let place = random.index(runtimes.count());
        if random.chance(4000) {
            town.lock()
                .expect("no panic")
                .tell(|| format!("runtime {place} ends"));
            runtimes.end(&town, place);
            continue;
        }
        let most = random.pick(&[20_000, 200_000, 3_000_000]);
        let span = Duration::from_micros(random.below(most));
        let is_lent = runtimes.is_lent_to(place);
        {
            let mut town = town.lock().expect("no panic");
            town.tell(|| format!("runtime {place} stands still for {span:?}"));
            town.count(if is_lent {
                "stood still with a loan"
            } else {
                "stood still"
            });
        }
        runtimes.stand_still(place, true);
        let runtimes = Arc::clone(&runtimes);
        tokio::spawn(async move {
            sleep(span).await;
            runtimes.stand_still(place, false);
        });
    }
}

/// Longer than an answer takes if all is well, and shorter than the time between two of the library's long looks.
const AT_ONCE: Duration = Duration::from_millis(60);

/// What becomes of the runtime that a connection is lent to.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// It ends with an answer outstanding.
    Ends,
    /// It has many callers at once, and keeps the connection.
    IsBusy,
    /// It stands still, and another one asks.
    IsInTheWay,
    /// It stands still, and asks itself.
    StandsStill,
}

/// If all is well, no answer and no release waits for a runtime. `look` is the time between two of the library's
/// looks at a loan.
pub(super) async fn probe(
    desk: &Arc<Desk>,
    there: &Whereabouts,
    look: Duration,
    random: &mut Random,
) -> Result<(), String> {
    let Some(place) = there.place else {
        return Ok(());
    };
    let (runtimes, town) = (&there.runtimes, &there.town);
    let hand = Hand::plain(Resource::from("{b}8"), random);
    for fate in [
        Fate::Ends,
        Fate::IsBusy,
        Fate::IsInTheWay,
        Fate::StandsStill,
    ] {
        if !borrow(desk, there, &hand).await {
            // Loans that were of no use make the next one wait; and a runtime may watch no sockets.
            continue;
        }
        town.lock().expect("no panic").count("probed loans");
        town.lock().expect("no panic").tell(|| format!("{fate:?}"));
        let at_home = Whereabouts {
            place: None,
            ..there.clone()
        };
        let bound = match fate {
            Fate::StandsStill => look * 2 + AT_ONCE,
            _ => AT_ONCE,
        };
        let asking = async {
            match fate {
                Fate::Ends => {
                    let hand = Hand::plain(Resource::from("{b}8"), random);
                    desk.leave(there, &hand, Kind::Acquire).await;
                    let (_, released) = desk.submit(there, &hand, Kind::Release).await;
                    runtimes.end(town, place);
                    let _ = released.await;
                }
                Fate::IsBusy => {
                    // An answer, so that the library's next look is no quiet one.
                    desk.ask(there, &hand, Kind::Inspect).await;
                    let was_lent = runtimes.is_lent_to(place);
                    let mut answers = Vec::new();
                    for _ in 0..6 {
                        answers.push(desk.submit(there, &hand, Kind::Inspect).await.1);
                    }
                    for answer in answers {
                        let _ = answer.await;
                    }
                    if was_lent {
                        let mut town = town.lock().expect("no panic");
                        town.count("many callers within a loan");
                        return runtimes.is_lent_to(place);
                    }
                }
                Fate::IsInTheWay => {
                    runtimes.stand_still(place, true);
                    desk.ask(&at_home, &hand, Kind::Inspect).await;
                }
                Fate::StandsStill => {
                    runtimes.stand_still(place, true);
                    desk.ask(there, &hand, Kind::Inspect).await;
                }
            }
            true
        };
        let answered = timeout(bound, asking).await;
        runtimes.stand_still(place, false);
        let problem = match answered {
            Ok(true) => continue,
            Ok(false) => "taken back from a runtime that serves it".to_owned(),
            Err(_) => format!("no answer within {bound:?}"),
        };
        return Err(format!("{fate:?}: {problem}, {:?}", desk.node.status()));
    }
    if random.chance(5000) && borrow(desk, there, &hand).await {
        // The last words come in a loan, which is not served.
        runtimes.stand_still(place, true);
    }
    Ok(())
}

/// Asks until a connection is lent. False if none is.
async fn borrow(desk: &Arc<Desk>, there: &Whereabouts, hand: &Hand) -> bool {
    let Some(place) = there.place else {
        return false;
    };
    for _ in 0..200 {
        if there.runtimes.is_lent_to(place) {
            return true;
        }
        desk.ask(there, hand, Kind::Inspect).await;
    }
    false
}
