//! Small libraries in C that are preloaded into a process.

use crate::temp_dir::TempDir;
use std::fs;
use std::process::{Command, Stdio};

/// Builds a library by `cc`, which Rust needs for linking anyway. The failure is text, so that a caller can
/// store it and show it in every test.
pub(crate) fn build(source: &str) -> Result<Vec<u8>, String> {
    if !cfg!(target_os = "linux") {
        return Err("this needs Linux: nothing is preloaded this way elsewhere".into());
    }
    let dir = TempDir::new();
    let (file, library) = (dir.path().join("source.c"), dir.path().join("library.so"));
    fs::write(&file, source).map_err(|error| format!("cannot write C: {error}"))?;
    let built = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-Wall", "-Werror", "-shared", "-fPIC"])
        .arg("-o")
        .args([&library, &file])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("this needs a C compiler `cc`: {error}"))?;
    if !built.status.success() {
        let errors = String::from_utf8_lossy(&built.stderr);
        return Err(format!("`cc` does not build what is preloaded:\n{errors}"));
    }
    fs::read(&library).map_err(|error| format!("cannot read what `cc` built: {error}"))
}
