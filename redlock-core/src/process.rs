//! This process: its name in owner tokens, and a guard that detects forks.

use std::sync::OnceLock;

use forkguard::Guard;

/// The error text of calls in a forked process.
pub const FORKED: &str = "this process was forked from the one that started redlock, and has neither its threads nor its \
                          connections; fork before that, or exec";

/// The guard that detects forks. The start of the library's thread sets the guard.
static GUARD: OnceLock<Guard> = OnceLock::new();

/// Makes later forks of this process detectable.
pub(crate) fn notice_forks() {
    if let Ok(guard) = Guard::try_new() {
        GUARD.get_or_init(|| guard);
    }
}

/// True in a process that was forked from the one with the library's thread. A mutex may stay locked forever there. The
/// check makes no system call.
pub fn is_forked() -> bool {
    GUARD.get().is_some_and(|it| it.clone().detected_fork())
}

/// Returns the `host/pid` of this process.
pub(crate) fn owner() -> String {
    format!("{}/{}", host_name(), std::process::id())
}

/// Returns the host's name, without the characters that have a meaning in owner tokens.
pub(crate) fn host_name() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    let name: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "-._".contains(*c))
        .take(64)
        .collect();
    if name.is_empty() {
        "unknown-host".to_owned()
    } else {
        name
    }
}
