//! The future of one call. It is all that is generic over the body: each annotated function has an
//! instance of its own, so there is as little of it as can be.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::way::Begun;
use crate::error::LockError;

pin_project! {
    /// A call in progress.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Run<'a, F: Future> {
        // Before the way, so that the body is dropped before the lock.
        #[pin]
        body: Body<F>,
        begun: Begun<'a>,
        refused: fn(LockError) -> F::Output,
    }

    impl<F: Future> PinnedDrop for Run<'_, F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.begun.cut_off(this.body);
        }
    }
}

impl<'a, F: Future> Run<'a, F> {
    pub(super) fn new(
        begun: Begun<'a>,
        body: F,
        refused: fn(LockError) -> F::Output,
        is_success: fn(&F::Output) -> bool,
    ) -> Self {
        Self {
            body: Body::Running { body, is_success },
            begun,
            refused,
        }
    }
}

impl<F: Future> Future for Run<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let ended = ready!(this.begun.poll(this.body.as_mut(), context));
        Poll::Ready(match ended {
            Ok(()) => this.body.output(),
            Err(error) => (this.refused)(error),
        })
    }
}

/// A body, as the way to the lock and back sees it. The trait object is made for each poll, and lives no
/// longer: a future that had it would have to decide whether every body is `Send`.
pub(super) trait PollBody {
    /// Polls the body. Once it has returned, its output is kept and the body is dropped.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()>;

    /// True if the body has returned, and did its work by what it returned.
    fn has_succeeded(&self) -> bool;

    /// Drops the body, unless it has returned.
    fn stop(self: Pin<&mut Self>);
}

pin_project! {
    #[project = BodyProjection]
    enum Body<F: Future> {
        Running { #[pin] body: F, is_success: fn(&F::Output) -> bool },
        Ended { output: Option<F::Output>, has_succeeded: bool },
    }
}

impl<F: Future> Body<F> {
    fn output(self: Pin<&mut Self>) -> F::Output {
        match self.project() {
            BodyProjection::Ended { output, .. } => output.take(),
            BodyProjection::Running { .. } => None,
        }
        .expect("the body has returned, and the call is polled to its end once")
    }
}

impl<F: Future> PollBody for Body<F> {
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if let BodyProjection::Running { body, is_success } = self.as_mut().project() {
            let output = ready!(body.poll(context));
            let has_succeeded = is_success(&output);
            self.set(Self::Ended {
                output: Some(output),
                has_succeeded,
            });
        }
        Poll::Ready(())
    }

    fn has_succeeded(&self) -> bool {
        matches!(
            self,
            Self::Ended {
                has_succeeded: true,
                ..
            }
        )
    }

    fn stop(mut self: Pin<&mut Self>) {
        if let BodyProjection::Running { .. } = self.as_mut().project() {
            self.set(Self::Ended {
                output: None,
                has_succeeded: false,
            });
        }
    }
}
