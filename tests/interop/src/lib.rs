//! The protocol that the programs in `clients/` speak. Each program drives one client of a registry.
//!
//! A program gets the nodes' URLs as arguments. It reads a command from each line of its input, and answers
//! each with one line. It ends with its input.
//!
//! | command | what the program does |
//! |---|---|
//! | `try KEY TTL` | asks for the lock once |
//! | `hold KEY TTL` | waits for the lock in its client's own way |
//! | `extend TTL` | extends the lock that it got last |
//! | `release` | releases it |
//! | `contend KEY TTL MS JOURNAL` | for so many ms acquires the lock, writes `enter ID` and `leave ID` to the journal, and releases the lock |
//! | `measure KEY OWN CALLERS END` | each of CALLERS callers acquires the lock and releases it until END, waiting in its client's own way; with `own` each a lock of its own, whose name is `KEY:` and the caller's number |
//!
//! END is a moment in ns on `CLOCK_MONOTONIC`. `measure` is for the benchmarks: its answer is `ok` and an object in
//! JSON with the number of `failures`, the text of the `first_failure`, and `calls`. Each call is a list: the
//! caller's number, and the moments when it asked, acquired, began to release and had released.
//!
//! Other times are in ms. The answer is `ok`, with the number of turns behind `contend`; or `refused`, with the
//! client's reason. A program whose client asked and got no answer that it knows says `error`. A program that
//! says nothing within [`PATIENCE`] fails the test.

use std::fmt;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The longest time without an answer, behind the time that a command takes by itself.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The answer of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The command was carried out; with what the program said behind it.
    Ok(String),
    /// The client said no, and why.
    Refused(String),
}

impl Answer {
    /// True if the command was carried out.
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Ok(_))
    }
}

/// A program with a client. It ends when this is dropped.
pub struct Program {
    name: String,
    child: Child,
    input: ChildStdin,
    answers: Receiver<String>,
}

impl Program {
    /// Starts `command` as the client called `name`.
    ///
    /// # Panics
    /// If the program cannot be started.
    pub fn start(name: &str, mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = command.spawn();
        let mut child = started.unwrap_or_else(|error| panic!("{name}: {command:?}: {error}"));
        let input = child.stdin.take().expect("it is piped");
        let output = child.stdout.take().expect("it is piped");
        let (sender, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            name: name.to_owned(),
            child,
            input,
            answers,
        }
    }

    /// Sends a command, and does not wait for the answer.
    ///
    /// # Panics
    /// If the program has ended.
    pub fn send(&mut self, command: impl fmt::Display) {
        let sent = self.input.write_all(format!("{command}\n").as_bytes());
        sent.unwrap_or_else(|error| panic!("{}: `{command}`: {error}", self.name));
    }

    /// Waits for the answer to a command that takes `longest` by itself.
    ///
    /// # Panics
    /// If there is none, or if the program says that something is wrong.
    pub fn answer(&mut self, longest: Duration) -> Answer {
        let answer = self.answer_within(longest + PATIENCE);
        answer.unwrap_or_else(|| panic!("{}: no answer", self.name))
    }

    /// Waits for the answer to a command; `None` if there is none within this time.
    ///
    /// # Panics
    /// If the program has ended, or if it says that something is wrong.
    pub fn answer_within(&mut self, limit: Duration) -> Option<Answer> {
        let line = match self.answers.recv_timeout(limit) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => panic!("{}: it ended", self.name),
        };
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        Some(match word {
            "ok" => Answer::Ok(rest.to_owned()),
            "refused" => Answer::Refused(rest.to_owned()),
            _ => panic!("{}: {line}", self.name),
        })
    }

    /// Sends a command and waits for its answer.
    ///
    /// # Panics
    /// As [`send`](Self::send) and [`answer`](Self::answer).
    pub fn ask(&mut self, command: impl fmt::Display) -> Answer {
        self.send(command);
        self.answer(Duration::ZERO)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
