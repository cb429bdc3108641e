//! The library's I/O thread. A process has only one.

use once_cell::sync::OnceCell;
use redlock_core::IoThread;
use redlock_core::internal::{FORKED, is_forked};

static IO: OnceCell<IoThread> = OnceCell::new();

/// Returns the library's I/O thread. The first call starts the thread.
pub(crate) fn io_thread() -> std::io::Result<&'static IoThread> {
    if is_forked() {
        return Err(std::io::Error::other(FORKED));
    }
    IO.get_or_try_init(IoThread::start)
}
