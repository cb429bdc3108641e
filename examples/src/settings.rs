//! The `ORDERS_*` variables.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// A variable whose value makes no sense.
pub struct SettingError {
    name: &'static str,
    expected: &'static str,
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not {}", self.name, self.expected)
    }
}

/// What a `main` that returns it prints.
impl fmt::Debug for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for SettingError {}

/// Where to listen: `ORDERS_ADDR`, or a free port of the loopback interface.
///
/// # Errors
/// [`SettingError`] where the variable is no address.
pub fn address() -> Result<SocketAddr, SettingError> {
    let free_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    read("ORDERS_ADDR", "an address such as 127.0.0.1:8080", |text| {
        text.parse().ok()
    })
    .map(|address| address.unwrap_or(free_port))
}

/// A duration in whole milliseconds.
pub(crate) fn millis(name: &'static str, default: Duration) -> Result<Duration, SettingError> {
    read(name, "a number of milliseconds", |text| text.parse().ok())
        .map(|ms| ms.map_or(default, Duration::from_millis))
}

fn read<T>(
    name: &'static str,
    expected: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, SettingError> {
    match std::env::var_os(name) {
        None => Ok(None),
        Some(value) => value
            .to_str()
            .and_then(parse)
            .map(Some)
            .ok_or(SettingError { name, expected }),
    }
}
