//! The signals that ask a process to end.

/// Completes at SIGTERM or SIGINT. Listens on the library's own thread, so that it works below any
/// runtime, actix's included.
pub(crate) async fn received() {
    let Some(io) = crate::init::io() else {
        // Nothing was started, so nothing is to be ended; but the caller still wants the signal.
        return wait().await;
    };
    let listening = io.handle().spawn(wait());
    // It cannot be cancelled, and has nothing that panics.
    let _ = listening.await;
}

#[cfg(unix)]
async fn wait() {
    use std::future::poll_fn;
    use std::task::Poll;

    use tokio::signal::unix::{SignalKind, signal};

    let mut streams: Vec<_> = [SignalKind::terminate(), SignalKind::interrupt()]
        .into_iter()
        .filter_map(|kind| match signal(kind) {
            Ok(stream) => Some(stream),
            Err(error) => {
                tracing::error!(%error, "cannot listen for a signal");
                None
            }
        })
        .collect();
    poll_fn(|context| {
        let is_any = streams
            .iter_mut()
            .any(|stream| stream.poll_recv(context).is_ready());
        if is_any {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

#[cfg(not(unix))]
async fn wait() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::error!(%error, "cannot listen for Ctrl-C");
        std::future::pending::<()>().await;
    }
}
