//! Twenty seconds of contention between a process of another client and one of this library.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use redlock_interop_tests::{Answer, Program};
use redlock_tests::{Nodes, check_no_overlap};

use crate::neighbours::Neighbour;

const TIME: Duration = Duration::from_secs(20);

/// Long enough for a machine that does much else.
const TTL: Duration = Duration::from_secs(10);

/// The callers of this library in one process.
const CALLERS: &str = "4";

/// The page with the setting.
const PAGE: &str = include_str!("../../../redlock-runtime/guide/reference/neighbours.md");

/// The lines of the page that give a client that polls its share.
fn setting() -> &'static str {
    let block = PAGE.split("```toml\n").nth(1).expect("a block of TOML");
    block.split("```").next().expect("its end")
}

/// The turns of theirs and of ours.
async fn turns(neighbour: Neighbour, count: usize, setting: &str) -> (u32, u32) {
    let nodes = Nodes::start(count).await;
    let mut config = format!("key_prefix = '{}'\n", neighbour.prefix());
    for (url, name) in nodes.urls().iter().zip('a'..) {
        writeln!(config, "[pools.{name}]\nurl = '{url}'").expect("a text takes it");
    }
    config.push_str(setting);
    let folder = nodes[0].dir();
    let (file, journal) = (folder.join("redlock.toml"), folder.join("journal"));
    fs::write(&file, config).expect("it is written");
    let mut own = Command::new(env!("CARGO_BIN_EXE_own_client"));
    own.arg(file).arg(CALLERS);
    let mut ours = Program::start("ours", own);
    let mut theirs = neighbour.start(&nodes.urls());
    let command = |ttl: Duration| {
        let (ttl, ms) = (ttl.as_millis(), TIME.as_millis());
        format!("contend order:1 {ttl} {ms} {}", journal.display())
    };
    ours.send(command(TTL));
    theirs.send(command(TTL));
    let turns = |program: &mut Program| match program.answer(TIME) {
        Answer::Ok(turns) => turns.parse::<u32>().expect("a number of turns"),
        Answer::Refused(why) => panic!("{}: {why}", neighbour.name()),
    };
    let (theirs, ours) = (turns(&mut theirs), turns(&mut ours));
    assert_in_turns(&journal, theirs + ours);
    (theirs, ours)
}

fn assert_in_turns(journal: &Path, turns: u32) {
    let sections = check_no_overlap(journal).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(sections, turns as usize, "each turn is in the journal");
}

/// Nobody is inside beside another, with and without the setting. With it, the other client has a fifth of
/// the turns.
pub(crate) async fn in_turns(neighbour: Neighbour, count: usize) {
    let (theirs, ours) = turns(neighbour, count, "").await;
    let (polls, yields) = turns(neighbour, count, setting()).await;
    let share = |theirs: u32, ours: u32| f64::from(theirs) * 100.0 / f64::from(theirs + ours);
    println!(
        "turns of {} on {count}: {theirs} beside {ours} ({:.2} %); with the setting {polls} beside {yields} \
         ({:.1} %)",
        neighbour.name(),
        share(theirs, ours),
        share(polls, yields),
    );
    assert!(theirs + ours > 0 && yields > 0, "ours had turns");
    assert!(
        polls * 4 >= yields,
        "less than a fifth: {polls} of {}",
        polls + yields
    );
}
