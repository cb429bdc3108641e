//! Everything that this process logs, at every level, and what must not be in it.

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

/// Planted wherever a secret can stand; shown nowhere.
pub(crate) const SECRET: &str = "hunter2Xq";

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn lines() -> &'static Lines {
    static LINES: OnceLock<Lines> = OnceLock::new();
    LINES.get_or_init(|| {
        let lines = Lines::default();
        let writer = lines.clone();
        tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .init();
        lines
    })
}

/// Begins to take what is logged, for the rest of the process.
pub(crate) fn begin() {
    lines();
}

/// All of it so far.
pub(crate) fn text() -> String {
    String::from_utf8_lossy(&lines().0.lock().unwrap()).into_owned()
}

/// Asserts that no line so far has the planted secret.
pub(crate) fn assert_without_secret() {
    let text = text();
    assert!(!text.is_empty(), "nothing was captured");
    if let Some(line) = text.lines().find(|line| line.contains(SECRET)) {
        panic!("the log has a secret: {line}");
    }
}
