//! The name of this process, with which owner tokens begin.

/// `host/pid`.
pub(crate) fn owner() -> String {
    format!("{}/{}", host_name(), std::process::id())
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
