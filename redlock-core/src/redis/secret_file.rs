//! Files with passwords, certificates and keys.
//!
//! Errors show neither content nor path, because users may write the secret itself in place of the path.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use crate::model::brief::system_words;
use crate::model::invalid::Invalid;

/// Reads the file at `path`, which is the value of `setting`.
pub(super) fn read(setting: &str, path: &Path) -> Result<Vec<u8>, Invalid> {
    // Refuse pipes, because opening one waits for its other end.
    match path.metadata() {
        Ok(it) if !it.is_file() => Err(unusable(setting, "it is a directory or a pipe")),
        Ok(_) => fs::read(path).map_err(|error| unusable(setting, system_words(&error))),
        Err(error) => Err(unusable(setting, system_words(&error))),
    }
}

/// Returns the error for an unusable file, for the reason `what`.
pub(super) fn unusable(setting: &str, what: impl Display) -> Invalid {
    Invalid::of_a_file(format!(
        "`{setting}` cannot be used: {what}; write the path of a file"
    ))
}

/// Reads the password in the file, and drops a line break at its end.
pub(super) fn password(path: &Path) -> Result<String, Invalid> {
    let text = String::from_utf8(read("password_file", path)?);
    let text = text.map_err(|_| unusable("password_file", "its content is not UTF-8 text"))?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(unusable("password_file", "it is empty")),
        password => Ok(password.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_not_opened() {
        let error = password(Path::new("/dev/null")).unwrap_err().to_string();
        assert_eq!(
            error,
            "`password_file` cannot be used: it is a directory or a pipe; write the path of a file"
        );
    }
}
