//! Several workers, and their orders.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::worker::ARGUMENT;
use super::{Log, Turn};

/// Processes of the same program that take part in the same turns.
#[derive(Debug)]
pub(crate) struct Crew(Vec<Worker>);

/// A process that answers each order, a line of JSON, with another.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    /// Taken away to let the worker end.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Crew {
    /// Starts `count` processes, connected to the servers at `urls`.
    pub(crate) fn start(count: usize, urls: &[String]) -> Self {
        let program = std::env::current_exe().expect("a path to this program");
        let start = |place: usize| {
            let place = place.to_string();
            Worker::start(Command::new(&program).args([ARGUMENT, &place]).args(urls))
        };
        let mut workers: Vec<_> = (0..count).map(start).collect();
        for worker in &mut workers {
            let _: String = worker.answer();
        }
        Self(workers)
    }

    /// Lets the workers take a turn, and returns the log of each.
    pub(crate) fn take(&mut self, turn: &Turn) -> Vec<Log> {
        self.order(turn);
        self.logs()
    }

    /// Lets the workers begin a turn.
    pub(crate) fn order(&mut self, turn: &Turn) {
        for worker in &mut self.0 {
            worker.order(turn);
        }
    }

    /// Returns the log of each worker, once the turn has ended.
    pub(crate) fn logs(&mut self) -> Vec<Log> {
        self.0.iter_mut().map(Worker::answer).collect()
    }
}

impl Worker {
    pub(crate) fn start(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("a program that starts a second time");
        let orders = child.stdin.take();
        let answers = child.stdout.take().expect("stdout is piped");
        Self {
            child,
            orders,
            answers: BufReader::new(answers),
        }
    }

    pub(crate) fn order(&mut self, order: &impl Serialize) {
        let line = serde_json::to_string(order).expect("no map, no key that is not text");
        let orders = self.orders.as_mut().expect("taken at the end only");
        let written = writeln!(orders, "{line}").and_then(|()| orders.flush());
        written.expect("a worker that listens");
    }

    pub(crate) fn answer<A: DeserializeOwned>(&mut self) -> A {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        let read = read.expect("a worker that answers");
        assert!(read > 0, "a worker ended; what it said is above");
        serde_json::from_str(&line).expect("the answer of a worker")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input ends a process between two turns. A process that hangs is killed.
        drop(self.orders.take());
        if std::thread::panicking() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
