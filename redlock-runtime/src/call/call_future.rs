//! The future of one call, which is generic over the body. Each annotated function compiles its own instance, so this
//! file has only the code that needs the body's type.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::call_state::{CallState, PollBody};
use crate::error::LockError;

pin_project! {
    /// A call in progress. Compile errors show this name if the value of the body is not `Send`.
    #[must_use = "futures do nothing unless awaited"]
    pub struct KeepsValueUntilRelease<'a, F: Future> {
        // Declared first, so that rustc proves only once that the state is `Send`, instead of again below each nested
        // body.
        proof: PhantomData<CallState<'a>>,
        // Declared before the state, so that the body is dropped before the lock.
        #[pin]
        body: Body<F>,
        state: CallState<'a>,
        rules: ReturnRules<F::Output>,
    }

    impl<F: Future> PinnedDrop for KeepsValueUntilRelease<'_, F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.state.cut_off(&mut BodyForPoll { body: this.body, rules: this.rules });
        }
    }
}

/// Turns lock errors into return values, and says which values of a body count as success.
pub struct ReturnRules<T> {
    /// Returns the value of a call whose lock was refused, or lost under the body.
    pub from_error: fn(LockError) -> T,
    /// True if a body that returned this value succeeded.
    pub is_success: fn(&T) -> bool,
}

/// Runs `body` under the lock of a call.
///
/// The future acquires the lock, polls the body while the lease is valid, and drops the body. Then the future releases
/// the lock, and waits until the next caller could win. If the lock is refused or lost, `rules` turn the error into the
/// output.
///
/// With `once_per`, the nodes remember the run if the body's value counts as success by `rules`.
///
/// Dropping the future drops the body first, then sends the release.
pub fn run_call<F: Future>(
    state: CallState<'_>,
    body: F,
    rules: ReturnRules<F::Output>,
) -> KeepsValueUntilRelease<'_, F> {
    KeepsValueUntilRelease {
        proof: PhantomData,
        body: Body::Running { body },
        state,
        rules,
    }
}

impl<F: Future> Future for KeepsValueUntilRelease<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let (mut body, rules) = (this.body, this.rules);
        let for_poll = &mut BodyForPoll {
            body: body.as_mut(),
            rules,
        };
        ready!(this.state.poll(for_poll, context));
        Poll::Ready(body.output())
    }
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
        .expect("the body has returned, and the call was not polled after its end")
    }
}

/// A reference to the body for one poll. A future type that owned the body would cost rustc one more type for each
/// nested call.
struct BodyForPoll<'a, F: Future> {
    body: Pin<&'a mut Body<F>>,
    rules: &'a ReturnRules<F::Output>,
}

impl<F: Future> PollBody for BodyForPoll<'_, F> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        let BodyProjection::Running { body } = self.body.as_mut().project() else {
            return Poll::Ready(false);
        };
        let output = Some(ready!(body.poll(context)));
        self.body.set(Body::Ended { output });
        match self.body.as_mut().project() {
            BodyProjection::Ended {
                output: Some(output),
            } => Poll::Ready((self.rules.is_success)(output)),
            _ => Poll::Ready(false),
        }
    }

    fn stop(&mut self, error: Option<LockError>) {
        if let BodyProjection::Running { .. } = self.body.as_mut().project() {
            self.body.set(Body::Ended { output: None });
            if let Some(error) = error {
                let output = Some((self.rules.from_error)(error));
                self.body.set(Body::Ended { output });
            }
        }
    }
}

pin_project! {
    /// A future that maps the value of a body. An `async` block in its place would store the body twice.
    #[must_use = "futures do nothing unless awaited"]
    pub(crate) struct MappedBody<B, M> {
        #[pin]
        pub(crate) body: B,
        pub(crate) map: M,
    }
}

impl<B: Future, M: Fn(B::Output) -> T, T> Future for MappedBody<B, M> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = self.project();
        this.body.poll(context).map(this.map)
    }
}

/// Returns the rules for a call that returns a `Result`.
pub(crate) fn result_rules<T, E: From<LockError>>() -> ReturnRules<Result<T, E>> {
    ReturnRules {
        from_error: |error| Err(E::from(error)),
        is_success: Result::is_ok,
    }
}
