//! The name of this process, with which owner tokens begin.

/// `host/pid/`. While a simulation runs on this thread, its process has a fixed name instead: the
/// length of a message depends on the name.
pub(crate) fn prefix() -> String {
    #[cfg(feature = "simulation")]
    if let Some(prefix) = simulated::prefix() {
        return prefix.to_owned();
    }
    format!("{}/{}/", host_name(), std::process::id())
}

/// The host's name, without characters that have a meaning in an owner token.
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

/// The name of a simulated process.
#[cfg(feature = "simulation")]
pub(crate) mod simulated {
    use std::cell::Cell;

    thread_local! {
        static PREFIX: Cell<Option<&'static str>> = const { Cell::new(None) };
    }

    /// Gives the process on this thread a fixed name, or its own name again.
    pub(crate) fn set_prefix(prefix: Option<&'static str>) {
        PREFIX.set(prefix);
    }

    pub(super) fn prefix() -> Option<&'static str> {
        PREFIX.get()
    }
}
