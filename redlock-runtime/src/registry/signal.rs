//! Handles the signals that ask a process to end.
//!
//! The library's own thread listens for the signals. So this works with any runtime, actix's included, and also while
//! every thread of the application is busy.

use std::process;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use redlock_core::internal::{is_forked, log_caught};
use redlock_core::targets;
use tokio::sync::oneshot;
use tracing::{error, info, warn};

use super::held_lease::listed;
use super::{Registry, RegistryShared, scope, shutdown};

/// The time within which a second signal counts as an echo of the first. One request may arrive as two signals: a
/// terminal signals the program and also a wrapper that forwards the signal, and `timeout` signals its child and then
/// its whole group.
const ECHO: Duration = Duration::from_millis(100);

/// Waits for SIGTERM or SIGINT, which begins the shutdown of this process. On systems other than Unix it waits for
/// Ctrl-C.
///
/// When the future completes, this process refuses new locks, and the held ones are being wound down. Use it as
/// `axum::serve(…).with_graceful_shutdown(redlock_runtime::shutdown_signal())`, and pass the server
/// to [`Redlock::shutdown_after`](crate::Redlock::shutdown_after). The future completes at once if the shutdown has
/// begun already. Several calls may wait at the same time: one signal completes all of them.
///
/// **A second signal ends the process at once**, as it does without a handler. The locks that are still held are logged
/// as an error, and their keys stay until the ttl. A signal less than 100 ms after the first counts as an echo of it,
/// and is ignored.
///
/// A signal before the first poll ends the process, as it does without this function:
/// see [`Config::release_on_exit`](crate::Config::release_on_exit). After the first poll, the first signal is kept for
/// the next caller if no caller waits, for example because the future was dropped. `shutdown_after` always waits, so
/// this worker's round has the grace period:
///
/// ```
/// # async fn example(redlock: redlock_runtime::Redlock) {
/// let worker = async {
///     loop {
///         tokio::select! {
///             () = redlock_runtime::shutdown_signal() => break,
///             () = tokio::time::sleep(std::time::Duration::from_secs(60)) => { /* a round of work */ }
///         }
///     }
/// };
/// let (_, report) = redlock.shutdown_after(worker).await;
/// # drop(report);
/// # }
/// ```
///
/// # Cancellation
/// Dropping the future before it completes begins no shutdown.
pub async fn shutdown_signal() {
    // Look for the registry now, because the caller's scope may be gone when the signal comes.
    let registry = scope::current();
    if let Some(registry) = &registry
        && registry.is_closing()
    {
        return;
    }
    let Some(listener) = listener() else {
        return std::future::pending().await;
    };
    if let Some(signal) = listener.add_waiter(registry) {
        // An error is impossible, because the listener keeps the sender until a signal comes.
        let _ = signal.await;
    }
}

/// Makes a signal shut `registry` down, as long as the caller keeps the receiver.
pub(crate) fn add_waiter(registry: &Registry) -> Option<oneshot::Receiver<()>> {
    if is_forked() {
        // A thread of the parent process may have held the mutex of the listener.
        return None;
    }
    listener()?.add_waiter(Some(registry.clone()))
}

/// Makes a signal shut `registry` down and then end the process. Has no effect if the program
/// awaits [`shutdown_signal`].
pub(crate) fn release_on_exit(registry: &Registry) {
    if let Some(listener) = listener() {
        let registry = Arc::downgrade(&registry.shared);
        listener.state.lock().releasing.push(registry);
    }
}

/// Logs that a signal leaves the keys of `registry` on the nodes. Is silent if a signal shuts the registry down, if a
/// caller has waited for a signal, or if all keys end with the process.
pub(crate) fn log_if_keys_stay(registry: &Registry) {
    let is_handled = LISTENER.get().is_some_and(|listener| {
        let state = listener.state.lock();
        let mut releasing = state.releasing.iter();
        state.is_awaited || releasing.any(|it| it.as_ptr() == Arc::as_ptr(&registry.shared))
    });
    let mut pools = registry.shared.pools.by_name.values();
    if !is_handled && pools.any(|pool| pool.memory.is_none()) {
        info!(
            target: targets::SHUTDOWN,
            "SIGTERM and SIGINT leave the keys of held locks to their ttl, as nothing awaits `shutdown_signal()`; \
             `release_on_exit` in `[shutdown]` releases them without code",
        );
    }
}

/// True if the process ends by a signal once its shutdown is over.
pub(crate) fn is_process_ending() -> bool {
    let listener = LISTENER.get();
    listener.is_some_and(|listener| listener.state.lock().is_process_ending)
}

/// Handles the signals of a process, and keeps the callers that wait for one.
#[derive(Default)]
struct SignalListener {
    state: Mutex<SignalState>,
}

#[derive(Default)]
struct SignalState {
    waiting: Vec<SignalWaiter>,
    /// True once a caller has waited: from then on the program decides what a signal ends.
    is_awaited: bool,
    /// The registries that a signal shuts down if no caller has ever waited.
    releasing: Vec<Weak<RegistryShared>>,
    /// The time of the last signal that began a shutdown or was kept for a later caller.
    first: Option<Instant>,
    /// True if a signal is kept for the next caller, because no caller waited for it.
    is_unclaimed: bool,
    /// The registries that the last signal began to shut down.
    ending: Vec<Registry>,
    /// True if the process ends once the registries in `ending` are shut down.
    is_process_ending: bool,
}

/// A caller that waits for a signal, as long as its receiver exists. The signal begins the shutdown of the caller's
/// registry, or of the global one if the caller has none.
struct SignalWaiter {
    registry: Option<Registry>,
    signal: oneshot::Sender<()>,
}

/// The response of the process to a signal.
enum SignalResponse {
    /// Shuts the registries down, and wakes these waiting callers.
    ShutDown(Vec<SignalWaiter>),
    /// Shuts the registries down, and then ends the process.
    ShutDownAndExit,
    /// Keeps the signal for the next caller that waits.
    Keep,
    /// Ignores the signal, because it is an echo of the last one.
    IgnoreEcho,
    /// Ends the process at once, because an earlier signal already asked it to end.
    ExitAtOnce,
}

impl SignalListener {
    /// Adds a caller that waits for a signal. Returns `None` if a signal was kept for the caller.
    fn add_waiter(&self, registry: Option<Registry>) -> Option<oneshot::Receiver<()>> {
        let mut state = self.state.lock();
        state.is_awaited = true;
        if std::mem::take(&mut state.is_unclaimed) {
            let registry = registry.or_else(scope::current);
            state.ending.extend(registry.clone());
            drop(state);
            registry.iter().for_each(shutdown::begin);
            return None;
        }
        let (signal, received) = oneshot::channel();
        let waiting = std::mem::take(&mut state.waiting).into_iter();
        let (gone, mut waiting): (Vec<_>, Vec<_>) = waiting.partition(|it| it.signal.is_closed());
        waiting.push(SignalWaiter { registry, signal });
        state.waiting = waiting;
        // Drop the registries outside of the mutex, because their drop may run any code.
        drop(state);
        drop(gone);
        Some(received)
    }

    fn respond(&self, now: Instant) -> SignalResponse {
        let mut state = self.state.lock();
        let mut waiting = std::mem::take(&mut state.waiting);
        if waiting.iter().any(|it| !it.signal.is_closed()) {
            for it in &mut waiting {
                it.registry = it.registry.take().or_else(scope::current);
            }
            state.ending = waiting
                .iter()
                .filter_map(|it| it.registry.clone())
                .collect();
            state.first = Some(now);
            return SignalResponse::ShutDown(waiting);
        }
        let response = match state.first {
            None if !state.is_awaited => {
                let releasing = state.releasing.iter().filter_map(Weak::upgrade);
                state.ending = releasing.map(|shared| Registry { shared }).collect();
                state.first = Some(now);
                state.is_process_ending = true;
                SignalResponse::ShutDownAndExit
            }
            None => {
                state.first = Some(now);
                state.is_unclaimed = true;
                SignalResponse::Keep
            }
            Some(first) if now.saturating_duration_since(first) < ECHO => {
                SignalResponse::IgnoreEcho
            }
            Some(_) => SignalResponse::ExitAtOnce,
        };
        drop(state);
        drop(waiting);
        response
    }

    fn on_signal(&self, signal: Signal) {
        let response = self.respond(Instant::now());
        let registries = self.state.lock().ending.clone();
        let begin = || {
            log_caught!(
                info!(target: targets::SHUTDOWN, signal = signal.name, "asked to end; shutting down")
            );
            registries.iter().for_each(shutdown::begin);
        };
        match response {
            SignalResponse::ShutDown(waiting) => {
                begin();
                for caller in waiting {
                    // The caller may be gone.
                    let _ = caller.signal.send(());
                }
            }
            SignalResponse::ShutDownAndExit => {
                begin();
                // Run this in its own task, so that a second signal is still handled during the shutdown.
                tokio::spawn(async move {
                    for registry in &registries {
                        registry.shared.shutdown.report().await;
                    }
                    end_by(signal)
                });
            }
            SignalResponse::Keep => {
                log_caught!(warn!(
                    target: targets::SHUTDOWN, signal = signal.name,
                    "no task waits for the signal; the next one ends the process",
                ));
            }
            SignalResponse::IgnoreEcho => {}
            SignalResponse::ExitAtOnce => end_at_once(signal, &registries),
        }
    }
}

/// Ends the process at once. Stuck bodies and silent nodes cannot delay this.
fn end_at_once(signal: Signal, registries: &[Registry]) -> ! {
    let held: Vec<_> = registries.iter().flat_map(Registry::held).collect();
    log_caught!(error!(
        target: targets::SHUTDOWN, signal = signal.name,
        held = held.len(),
        "a second signal; the process ends at once, and its keys stay until the ttl: {}",
        listed(&held),
    ));
    end_by(signal)
}

/// Ends the process by the signal's default action, so that its parent sees which signal ended it.
///
/// In the first process of a container the default action has no effect, because the kernel drops signals without a
/// handler. That process exits with the status that a shell would show.
fn end_by(signal: Signal) -> ! {
    #[cfg(unix)]
    if process::id() != 1 {
        // The function returns only for a signal that it does not know.
        let _ = signal_hook::low_level::emulate_default_handler(signal.number);
    }
    process::exit(128 + signal.number)
}

static LISTENER: OnceCell<&'static SignalListener> = OnceCell::new();

/// Returns the process's listener. The listener starts at the first call and listens until the process ends.
fn listener() -> Option<&'static SignalListener> {
    let started = LISTENER.get_or_try_init(|| {
        let io = super::io_thread::io_thread()?;
        let listener = &*Box::leak(Box::default());
        listen(io, listener);
        Ok::<_, std::io::Error>(listener)
    });
    match started {
        Ok(listener) => Some(listener),
        Err(error) => {
            error!(target: targets::SHUTDOWN, %error, "cannot listen for signals: the I/O thread cannot start");
            None
        }
    }
}

/// A signal that asks a process to end.
#[derive(Clone, Copy)]
struct Signal {
    name: &'static str,
    number: i32,
}

#[cfg(unix)]
fn listen(io: &redlock_core::IoThread, listener: &'static SignalListener) {
    use tokio::signal::unix::{SignalKind, signal};

    // Register the handlers here instead of in the tasks. Otherwise a signal right after the first poll could be
    // missed.
    let _entered = io.handle().enter();
    for (kind, name) in [
        (SignalKind::terminate(), "SIGTERM"),
        (SignalKind::interrupt(), "SIGINT"),
    ] {
        let number = kind.as_raw_value();
        match signal(kind) {
            Ok(mut stream) => {
                io.handle().spawn(async move {
                    while stream.recv().await.is_some() {
                        listener.on_signal(Signal { name, number });
                    }
                });
            }
            Err(error) => {
                error!(target: targets::SHUTDOWN, %error, signal = name, "cannot listen for a signal");
            }
        }
    }
}

#[cfg(not(unix))]
fn listen(io: &redlock_core::IoThread, listener: &'static SignalListener) {
    let signal = Signal {
        name: "Ctrl-C",
        number: 2,
    };
    io.handle().spawn(async move {
        loop {
            match tokio::signal::ctrl_c().await {
                Ok(()) => listener.on_signal(signal),
                Err(error) => {
                    error!(target: targets::SHUTDOWN, %error, "cannot listen for Ctrl-C");
                    return;
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_shut_down(response: &SignalResponse) -> bool {
        matches!(response, SignalResponse::ShutDown(_))
    }

    #[test]
    fn one_signal_is_for_all_who_wait_and_the_next_ends_the_process() {
        let listener = SignalListener::default();
        let now = Instant::now();
        let waiting = [listener.add_waiter(None), listener.add_waiter(None)];
        assert!(is_shut_down(&listener.respond(now)));
        // The waiting callers have not been polled yet.
        assert!(matches!(listener.respond(now), SignalResponse::IgnoreEcho));
        assert!(matches!(
            listener.respond(now + ECHO),
            SignalResponse::ExitAtOnce
        ));
        drop(waiting);
        assert!(matches!(
            listener.respond(now + ECHO),
            SignalResponse::ExitAtOnce
        ));
    }

    #[test]
    fn who_waits_again_gets_the_next_one() {
        let listener = SignalListener::default();
        let now = Instant::now();
        drop(listener.add_waiter(None));
        let waiting = listener.add_waiter(None);
        assert!(is_shut_down(&listener.respond(now)));
        drop(waiting);
        let _waiting = listener.add_waiter(None).expect("that one has been taken");
        assert!(is_shut_down(&listener.respond(now + ECHO)));
        assert!(matches!(
            listener.respond(now + ECHO * 2),
            SignalResponse::ExitAtOnce
        ));
    }
}
