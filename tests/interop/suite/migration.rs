//! A service that changes from another client to this library without a stop: theirs alone, both at once,
//! ours alone.

use std::time::Duration;

use redlock_tests::{Nodes, check_no_overlap, eventually, sections_so_far};

use crate::contention::{TTL, own, turns};
use crate::neighbours::Neighbour;

/// Theirs ends after this time, and ours goes on for as long again.
const TIME: Duration = Duration::from_secs(6);

/// The end of a first turn, on a machine that does much else.
const SOON: Duration = Duration::from_secs(10);

/// Nobody is inside beside another on the way. Ours has turns while both run, and after theirs has ended.
pub(crate) async fn without_overlap(neighbour: Neighbour) {
    let nodes = Nodes::start(3).await;
    let journal = nodes[0].dir().join("journal");
    let contend = |time: Duration| {
        let (ttl, time) = (TTL.as_millis(), time.as_millis());
        format!("contend order:1 {ttl} {time} {}", journal.display())
    };
    let ended = || sections_so_far(&journal).map(|(ended, _)| ended);
    let is_ours = |id: &str| id.starts_with("own-");

    let mut theirs = neighbour.start(&nodes.urls());
    theirs.send(contend(TIME));
    eventually("a turn of theirs alone", SOON, async || match ended() {
        Ok(turns) if !turns.is_empty() => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    let alone = ended().expect("a journal");
    assert!(!alone.iter().any(|turn| is_ours(&turn.id)), "theirs alone");

    let mut ours = own(&nodes, neighbour);
    ours.send(contend(2 * TIME));
    let of_theirs = turns(&mut theirs, TIME);
    drop(theirs);
    let until_then = ended().expect("a journal");
    let of_ours = turns(&mut ours, 2 * TIME);

    let sections = check_no_overlap(&journal).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(sections, of_theirs + of_ours, "each turn is in the journal");
    let ids: Vec<_> = until_then.iter().map(|turn| turn.id.as_str()).collect();
    let first = ids.iter().position(|id| is_ours(id));
    let first = first.expect("ours had a turn while theirs ran");
    let behind = sections - ids.len();
    assert!(behind > 1, "ours did not go on alone");
    let both = ids[first..].iter().filter(|id| is_ours(id)).count();
    println!(
        "{}: {first} turns of theirs alone; {} beside {both} of ours; {behind} of ours alone",
        neighbour.name(),
        ids.len() - first - both,
    );
}
