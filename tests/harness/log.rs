//! The log of this process.

use crate::eventually::eventually;
use parking_lot::Mutex;
use std::io::Write;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tracing_subscriber::filter::LevelFilter;

/// Everything that this process logs, at every level, from the first call of [`lines()`] on.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<u8>>>);

/// Begins to take what is logged, for the rest of the process, and returns it. In a program that does so, no other
/// subscriber can be installed.
pub fn lines() -> &'static Lines {
    static LINES: LazyLock<Lines> = LazyLock::new(|| {
        let lines = Lines::default();
        let writer = lines.clone();
        tracing_subscriber::fmt()
            .with_max_level(LevelFilter::TRACE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .init();
        lines
    });
    &LINES
}

impl Lines {
    /// Returns all lines so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }

    /// Returns the lines so far that contain all of `parts`.
    pub fn with(&self, parts: &[&str]) -> Vec<String> {
        let text = self.text();
        let has_all = |line: &&str| parts.iter().all(|part| line.contains(part));
        text.lines().filter(has_all).map(str::to_owned).collect()
    }

    /// Waits until a line contains `hint`.
    pub async fn until(&self, hint: &str) {
        eventually("the log line", Duration::from_secs(20), async || {
            let text = self.text();
            let is_there = text.contains(hint);
            is_there
                .then_some(())
                .ok_or_else(|| format!("no `{hint}` in\n{text}"))
        })
        .await;
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
