//! Child processes that end with this process, however it ends.
//!
//! Dropping a child's handle kills the child, but a killed process drops nothing. The *undertaker* handles that case:
//! one shell per process, which reads the id of each child. When this process ends, the kernel closes the shell's
//! input. Then the shell kills the remaining children, even stopped ones. A POSIX shell suffices, so this works
//! wherever the tests do.

use parking_lot::Mutex;
use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

/// The script of the undertaker. It ignores the signals that a terminal sends to all processes of a group.
const SCRIPT: &str = r#"
    trap '' HUP INT QUIT TERM TSTP
    alive=' '
    while read -r event id; do
        case $event in
            born) alive="$alive$id " ;;
            dead) alive="${alive%% $id *} ${alive#* $id }" ;;
        esac
    done
    kill -KILL $alive
"#;

static UNDERTAKER: LazyLock<Mutex<Child>> = LazyLock::new(|| {
    let started = Command::new("sh")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Mutex::new(started.unwrap_or_else(|error| panic!("cannot start `sh`: {error}")))
});

/// Starts a child. Call [`ended`] before you reap it.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Child> {
    // Start the undertaker first, because it would miss an earlier child.
    LazyLock::force(&UNDERTAKER);
    let child = command.spawn()?;
    tell("born", child.id());
    Ok(child)
}

/// Tells the undertaker that a child has ended. Call this before the child is reaped, because its id is reused then.
pub(crate) fn ended(child: &Child) {
    tell("dead", child.id());
}

fn tell(event: &str, id: u32) {
    let mut undertaker = UNDERTAKER.lock();
    if let Some(input) = &mut undertaker.stdin {
        // Write each line at once, so that the undertaker never reads half a line. An error is ignored, because
        // the children still end with their handles.
        let _ = input.write_all(format!("{event} {id}\n").as_bytes());
    }
}
