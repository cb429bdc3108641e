//! A worker process, which is this program, started again with a hidden argument.
//!
//! The worker reads one turn a line as JSON and answers each with one line, its log. It ends with its input,
//! and so with the process that started it.

use std::io::{self, BufRead as _, Write as _};
use std::sync::mpsc;
use std::{process, thread};

use tokio::runtime::Builder;

use super::{Turn, hammer};
use crate::contender::Fleet;

/// The argument that makes a benchmark a worker; its place and the URLs of the servers follow.
pub(super) const ARGUMENT: &str = "--work-on-these-servers";

/// Works, if the command line says that this process is a worker. Returns whether it was one.
pub fn work() -> bool {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(ARGUMENT) {
        return false;
    }
    let place = arguments.next().and_then(|place| place.parse().ok());
    let place = place.expect("a place in the crew");
    let urls: Vec<String> = arguments.collect();
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.expect("a tokio runtime");
    let fleet = runtime.block_on(Fleet::connect(&urls));
    answer(&"ready");
    let (turns, taken) = mpsc::channel::<Turn>();
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let line = line.expect("a line from the benchmark");
            let turn = serde_json::from_str(&line).expect("a turn");
            if turns.send(turn).is_err() {
                return;
            }
        }
        // Whoever is in the middle of a turn then has lost its benchmark, and maybe its servers.
        process::exit(0);
    });
    for turn in taken {
        answer(&runtime.block_on(hammer(fleet.get(turn.kind), &turn, place)));
    }
    true
}

fn answer(answer: &impl serde::Serialize) {
    let line = serde_json::to_string(answer).expect("no map, no key that is not text");
    let mut output = io::stdout().lock();
    let written = writeln!(output, "{line}").and_then(|()| output.flush());
    written.expect("the benchmark listens");
}
