//! A password in a file.

use std::fs;
use std::path::Path;

use crate::model::invalid::Invalid;

/// Longer than any token of a cloud.
const LONGEST: u64 = 64 * 1024;

/// The content of the file, without a line break at its end.
pub(super) fn read(path: &Path) -> Result<String, Invalid> {
    let shown = path.to_string_lossy();
    if shown.is_empty() || shown.contains(char::is_control) || shown.contains("://") {
        // The text is not shown: it may be the password.
        return Err(Invalid::new(
            "`password_file` takes the path of a file; write its path",
        ));
    }
    let wrong = |what: &dyn std::fmt::Display| {
        Invalid::new(format!("`password_file` {shown} cannot be used: {what}"))
    };
    let facts = fs::metadata(path).map_err(|error| wrong(&error.kind()))?;
    if !facts.is_file() || facts.len() > LONGEST {
        return Err(wrong(&"it is no file of at most 64 KiB"));
    }
    let text = fs::read_to_string(path).map_err(|error| wrong(&error.kind()))?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err(wrong(&"it is empty"));
    }
    Ok(password.to_owned())
}
