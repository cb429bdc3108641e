//! Twenty seconds of contention between a process of another client and one of this library.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::Duration;

use redlock_interop_tests::{Answer, Program};
use redlock_tests::{Nodes, check_no_overlap};

use crate::neighbours::Neighbour;

const TIME: Duration = Duration::from_secs(20);

/// Long enough for a machine that does much else.
pub(crate) const TTL: Duration = Duration::from_secs(10);

/// The callers of this library in one process.
const CALLERS: &str = "4";

/// Starts this library in a process of its own, beside `neighbour`.
pub(crate) fn own(nodes: &Nodes, neighbour: Neighbour) -> Program {
    let mut config = format!("key_prefix = '{}'\n", neighbour.prefix());
    for (url, name) in nodes.urls().iter().zip('a'..) {
        writeln!(config, "[pools.{name}]\nurl = '{url}'").expect("a text takes it");
    }
    let file = nodes[0].dir().join("redlock.toml");
    fs::write(&file, config).expect("it is written");
    let mut own = Command::new(env!("CARGO_BIN_EXE_own_client"));
    own.arg(file).arg(CALLERS);
    Program::start("ours", own)
}

/// The turns of a program that contends for `time`, once it has ended.
pub(crate) fn turns(program: &mut Program, time: Duration) -> usize {
    match program.answer(time) {
        Answer::Ok(turns) => turns.parse().expect("a number of turns"),
        Answer::Refused(why) => panic!("refused: {why}"),
    }
}

/// Nobody is inside beside another, and ours has turns.
pub(crate) async fn in_turns(neighbour: Neighbour, count: usize) {
    let nodes = Nodes::start(count).await;
    let journal = nodes[0].dir().join("journal");
    let mut ours = own(&nodes, neighbour);
    let mut theirs = neighbour.start(&nodes.urls());
    let (ttl, time) = (TTL.as_millis(), TIME.as_millis());
    let command = format!("contend order:1 {ttl} {time} {}", journal.display());
    ours.send(&command);
    theirs.send(&command);
    let (theirs, ours) = (turns(&mut theirs, TIME), turns(&mut ours, TIME));
    let sections = check_no_overlap(&journal).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(sections, theirs + ours, "each turn is in the journal");
    let float = |turns: usize| f64::from(u32::try_from(turns).expect("few turns"));
    println!(
        "turns of {} on {count}: {theirs} beside {ours} ({:.2} %)",
        neighbour.name(),
        float(theirs) * 100.0 / float(theirs + ours),
    );
    assert!(ours > 0, "ours had turns");
}
