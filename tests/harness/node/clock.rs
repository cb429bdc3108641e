//! A server's wall clock, which a test can move.
//!
//! A small library is preloaded into the server: `clock.c`. (Debian's libfaketime and a server with
//! jemalloc hang each other.)

use crate::preload::build;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// The library, built once a process. The failure is stored as text, so that every test shows it.
static LIBRARY: LazyLock<Result<Vec<u8>, String>> =
    LazyLock::new(|| build(include_str!("clock.c")));

/// The difference between one server's clock and the machine's.
#[derive(Debug)]
pub(super) struct MovableClock {
    /// The shift in µs.
    shift: i64,
    /// The file with the shift, which the server has mapped.
    file: File,
}

impl MovableClock {
    /// Puts what [`preload`] needs into the server's directory.
    pub(super) fn new(dir: &Path) -> Self {
        let library = LIBRARY.as_ref().unwrap_or_else(|why| panic!("{why}"));
        fs::write(dir.join("clock.so"), library).expect("the node's directory can be written");
        let file = File::create(dir.join("clock")).expect("the node's directory can be written");
        let clock = Self { shift: 0, file };
        clock.write();
        clock
    }

    /// Moves the clock from its current time.
    pub(super) fn jump(&mut self, micros: i64) {
        self.shift += micros;
        self.write();
    }

    fn write(&self) {
        let written = self.file.write_all_at(&self.shift.to_ne_bytes(), 0);
        written.expect("the clock's file can be written");
    }
}

/// Lets `command` start under the clock in `dir`.
pub(super) fn preload(command: &mut Command, dir: &Path) {
    command
        .env("LD_PRELOAD", dir.join("clock.so"))
        .env("REDLOCK_CLOCK", dir.join("clock"));
}
