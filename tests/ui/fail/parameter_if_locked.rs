//! `if_locked` is one of two words, and a call that waits forever is never skipped.
use redlock_runtime::redlock;

#[redlock(resource = "a", if_locked = "skipp")]
async fn near() {}

#[redlock(resource = "a", if_locked = skip)]
async fn no_string() {}

#[redlock(resource = "a", if_locked = "skip", wait = "forever")]
async fn never_skipped() {}

fn main() {
    let _ = (near(), no_string(), never_skipped());
}
