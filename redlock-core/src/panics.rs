//! Calls into foreign code, and tasks that survive its panics.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::targets;

/// The pause before a task of the library starts again after a panic.
pub(crate) const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// Runs foreign code and catches its panic, which is logged. Drops and tasks of the library use this function, because
/// a panic would do harm there.
pub fn caught<T>(what: &'static str, call: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(value) => Some(value),
        Err(panic) => {
            complain(what, panic);
            None
        }
    }
}

/// Wakes a caller. A panic of the caller's executor does not reach the task that wakes it.
pub(crate) fn wake(waker: Waker) {
    caught("a waker", || waker.wake());
}

/// Runs a task of the library to its end. Returns `None` if the task panicked, after dropping the task.
pub(crate) async fn unless_it_panics<F: Future>(what: &'static str, task: F) -> Option<F::Output> {
    let mut task = Box::pin(task);
    let output = poll_fn(
        |context| match caught(what, || task.as_mut().poll(context)) {
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(output)) => Poll::Ready(Some(output)),
            None => Poll::Ready(None),
        },
    );
    let output = output.await;
    caught(what, || drop(task));
    output
}

/// The payload of a panic.
type Payload = dyn Any + Send;

/// Returns the text of a panic, if it has one.
pub(crate) fn text_of(panic: &Payload) -> Option<&str> {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}

fn complain(what: &'static str, panic: Box<Payload>) {
    let logged = catch_unwind(AssertUnwindSafe(|| {
        let reason = text_of(&*panic);
        tracing::error!(target: targets::LIBRARY, reason, "{what} panicked; the library goes on");
    }));
    // Leak these values, because their drops may panic too.
    std::mem::forget((logged, panic));
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn a_panic_of_others_ends_nothing() {
        assert_eq!(caught("it", || 7), Some(7));
        assert_eq!(caught("it", || panic!("{}", 7)), None::<u8>);
    }

    #[test]
    fn a_task_that_panics_is_dropped_and_told_apart() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                assert!(std::thread::panicking(), "dropped where it panicked");
            }
        }
        let mut context = Context::from_waker(Waker::noop());
        let mut good = pin!(unless_it_panics("it", async { 7 }));
        assert_eq!(good.as_mut().poll(&mut context), Poll::Ready(Some(7)));
        let mut bad = pin!(unless_it_panics("it", async {
            let _bomb = Bomb;
            panic!("at its first poll");
        }));
        assert_eq!(bad.as_mut().poll(&mut context), Poll::Ready(None::<()>));
    }
}
