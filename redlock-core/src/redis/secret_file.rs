//! Files with passwords, certificates and keys.
//!
//! No error shows the content, nor the path: it may be the secret in place of the name of its file.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use crate::model::invalid::Invalid;

/// The content of the file at `path`, the value of `setting`.
#[cfg(feature = "tls")]
pub(super) fn read(setting: &str, path: &Path) -> Result<Vec<u8>, Invalid> {
    fs::read(path).map_err(|error| unusable(setting, error.kind()))
}

/// The error for a file that cannot be used.
pub(super) fn unusable(setting: &str, what: impl Display) -> Invalid {
    Invalid::new(format!(
        "`{setting}` cannot be used: {what}; write the path of a file"
    ))
}

/// The password in the file, without a line break at its end.
pub(super) fn password(path: &Path) -> Result<String, Invalid> {
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| unusable("password_file", error.kind()))?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(unusable("password_file", "there is no text in it")),
        password => Ok(password.to_owned()),
    }
}
