//! Files with passwords, certificates and keys.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use crate::model::invalid::Invalid;

/// The bundle of all public CAs has a quarter of this size.
const LARGEST: u64 = 1 << 20;

/// The content of the file at `path`, the value of `setting`. No error shows the content.
pub(super) fn read(setting: &str, path: &Path) -> Result<Vec<u8>, Invalid> {
    let shown = path.to_string_lossy();
    let is_no_path = |part| shown.contains(part);
    if shown.contains(char::is_control) || ["-----", "://"].into_iter().any(is_no_path) {
        // The text is not shown: it may be the key, or a URL with a password.
        return Err(Invalid::new(format!(
            "`{setting}` takes the path of a file, not the file's content; write its path"
        )));
    }
    let about = path.metadata();
    let about = about.map_err(|error| unusable(setting, path, error.kind()))?;
    // Opening a pipe would wait for its other end.
    if !about.is_file() || about.len() > LARGEST {
        return Err(unusable(setting, path, "it is no file of at most 1 MiB"));
    }
    fs::read(path).map_err(|error| unusable(setting, path, error.kind()))
}

/// The error for a file whose content cannot be used.
pub(super) fn unusable(setting: &str, path: &Path, what: impl Display) -> Invalid {
    let path = path.display();
    Invalid::new(format!("`{setting}` cannot be used, {path}: {what}"))
}

/// The password in the file, without a line break at its end.
pub(super) fn password(path: &Path) -> Result<String, Invalid> {
    let text = String::from_utf8(read("password_file", path)?).unwrap_or_default();
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(unusable("password_file", path, "there is no text in it")),
        password => Ok(password.to_owned()),
    }
}
