//! Child processes that end with this process, however it ends.
//!
//! Dropping a child's handle kills the child. A process that is itself killed drops nothing.
//! For that case there is the *undertaker*: one shell per process, which is told of each child. When
//! this process ends, the kernel closes the shell's input; then the shell kills the children that are
//! left, stopped ones too. It needs nothing but a POSIX shell, so it works wherever the tests do.

use parking_lot::Mutex;
use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

/// The signals are those that a terminal sends to all processes of a group: the undertaker has to
/// outlive them.
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

/// Starts a child. Whoever reaps it calls [`ended`] before that.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Child> {
    // First of all: a child that is started before it might be left behind.
    LazyLock::force(&UNDERTAKER);
    let child = command.spawn()?;
    tell("born", child.id());
    Ok(child)
}

/// The child has ended and is not reaped yet. Once it is, its id may be that of another process.
pub(crate) fn ended(child: &Child) {
    tell("dead", child.id());
}

fn tell(event: &str, id: u32) {
    let mut undertaker = UNDERTAKER.lock();
    if let Some(input) = &mut undertaker.stdin {
        // One write a line: half a line is no line. Without an undertaker all children still end
        // with their handles.
        let _ = input.write_all(format!("{event} {id}\n").as_bytes());
    }
}
