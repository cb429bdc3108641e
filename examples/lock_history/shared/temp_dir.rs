//! A directory that is removed with its owner.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new() -> io::Result<Self> {
        let mut number = 0_u32;
        loop {
            let name = format!("redlock-example-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                // Left by a killed process that had the same id.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // A directory that stays behind is litter, and no reason to say that the scene failed.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
