//! The future of one call. It is all that is generic over the body: each annotated function has an
//! instance of its own, so there is as little of it as can be.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::call_state::CallState;
use crate::error::LockError;

pin_project! {
    /// A call in progress. rustc shows the name if the value that the body returns is not `Send`.
    #[must_use = "futures do nothing unless awaited"]
    pub struct KeepsValueUntilRelease<'a, F: Future> {
        // The first field, so that rustc proves once that a way is `Send`, and not below each nested body.
        proof: PhantomData<CallState<'a>>,
        // Before the way, so that the body is dropped before the lock.
        #[pin]
        body: Body<F>,
        way: CallState<'a>,
        answers: &'a ReturnRules<F::Output>,
    }

    impl<F: Future> PinnedDrop for KeepsValueUntilRelease<'_, F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            let answers = *this.answers;
            this.way.cut_off(&mut BodyForPoll { body: this.body, answers });
        }
    }
}

/// What a call returns besides the value of its body, and what it makes of that value.
pub struct ReturnRules<T> {
    /// The value to return if the lock was not acquired, or was lost under the body.
    pub refused: fn(LockError) -> T,
    /// Whether a body that returned this value did its work.
    pub is_success: fn(&T) -> bool,
}

impl<'a> CallState<'a> {
    /// Runs `body` under the lock: acquires the lock, polls the body while the lease is valid, drops the
    /// body, releases the lock and waits until the next caller could win. If that fails, the output is what
    /// `answers` make of the error.
    ///
    /// With `once_per`, the nodes remember the run if `answers` say so of what the body returned.
    ///
    /// Dropping the future drops the body first, then sends the release.
    pub fn run<F: Future>(
        self,
        body: F,
        answers: &'a ReturnRules<F::Output>,
    ) -> KeepsValueUntilRelease<'a, F> {
        KeepsValueUntilRelease {
            proof: PhantomData,
            body: Body::Running { body },
            way: self,
            answers,
        }
    }
}

impl<F: Future> Future for KeepsValueUntilRelease<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let (mut body, answers) = (this.body, *this.answers);
        let lent = &mut BodyForPoll {
            body: body.as_mut(),
            answers,
        };
        ready!(this.way.poll(lent, context));
        Poll::Ready(body.output())
    }
}

/// A body, as the way to the lock and back sees it. The trait object is made for each poll, and lives no
/// longer: a future that had it would have to decide whether every body is `Send`.
pub(super) trait PollBody {
    /// Polls the body. Once it has returned, its output is kept and the body is dropped. The value is true if the body
    /// did its work, by what it returned.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<bool>;

    /// Drops the body, unless it has returned. With an error, the output is what the caller gets of it.
    fn stop(&mut self, error: Option<LockError>);
}

pin_project! {
    #[project = BodyProjection]
    enum Body<F: Future> {
        Running { #[pin] body: F },
        Ended { output: Option<F::Output> },
    }
}

impl<F: Future> Body<F> {
    fn output(self: Pin<&mut Self>) -> F::Output {
        match self.project() {
            BodyProjection::Ended { output } => output.take(),
            BodyProjection::Running { .. } => None,
        }
        .expect("the body has returned, and the call is polled to its end once")
    }
}

/// The body for one poll. A future that contained it, as a type of its own around the body, would cost rustc
/// one more type for each nested call.
struct BodyForPoll<'a, 'b, F: Future> {
    body: Pin<&'a mut Body<F>>,
    answers: &'b ReturnRules<F::Output>,
}

impl<F: Future> PollBody for BodyForPoll<'_, '_, F> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        let BodyProjection::Running { body } = self.body.as_mut().project() else {
            return Poll::Ready(false);
        };
        let output = Some(ready!(body.poll(context)));
        self.body.set(Body::Ended { output });
        match self.body.as_mut().project() {
            BodyProjection::Ended {
                output: Some(output),
            } => Poll::Ready((self.answers.is_success)(output)),
            _ => Poll::Ready(false),
        }
    }

    fn stop(&mut self, error: Option<LockError>) {
        if let BodyProjection::Running { .. } = self.body.as_mut().project() {
            self.body.set(Body::Ended { output: None });
            if let Some(error) = error {
                let output = Some((self.answers.refused)(error));
                self.body.set(Body::Ended { output });
            }
        }
    }
}
