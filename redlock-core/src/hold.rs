//! Running a body under a lease.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use crate::error::Over;
use crate::lease::LeaseHandle;

/// What happens to a body when its lease is lost or its validity ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnLost {
    /// The body is not polled any more; the call ends with the loss.
    #[default]
    Cancel,
    /// The body goes on without the lock.
    Continue,
}

/// How a body ended.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Held<T> {
    /// It returned while the lease was valid.
    Done(T),
    /// It returned, but in a poll that ran past the end of the lease.
    Late(T, Over),
    /// It was cancelled: not polled again once the lease was over.
    Cancelled(Over),
}

impl LeaseHandle {
    /// Polls `body` for as long as the lease is valid. The deadline is checked, on the client's
    /// clock, before every poll.
    ///
    /// A lease that is called back for shutdown cancels the body under either policy.
    ///
    /// # Cancellation
    /// Dropping the future stops polling the body; the lease stays as it is.
    pub async fn hold<F: Future>(&self, mut body: Pin<&mut F>, on_lost: OnLost) -> Held<F::Output> {
        // Most bodies that do not have to wait need no timer.
        let begun = poll_fn(|context| Poll::Ready(self.poll_body(body.as_mut(), on_lost, context)));
        if let Poll::Ready(held) = begun.await {
            return held;
        }
        loop {
            // Armed from here on: a change that comes before the first poll of these counts too.
            let mut changed = pin!(self.shared.changed.notified());
            let mut deadline = self.shared.clock().sleep_until(self.shared.deadline());
            // What happened before would otherwise never be heard of.
            if let Some(over) = self.verdict(on_lost) {
                return Held::Cancelled(over);
            }
            let mut has_just_been_polled = true;
            let ended = poll_fn(|context| {
                if !std::mem::take(&mut has_just_been_polled)
                    && let Poll::Ready(held) = self.poll_body(body.as_mut(), on_lost, context)
                {
                    return Poll::Ready(Some(held));
                }
                let heeds_deadline = on_lost == OnLost::Cancel;
                let is_due = heeds_deadline && Pin::new(&mut deadline).poll(context).is_ready()
                    || changed.as_mut().poll(context).is_ready();
                if is_due {
                    Poll::Ready(None)
                } else {
                    Poll::Pending
                }
            });
            if let Some(held) = ended.await {
                return held;
            }
            // Extended, lost, or called back: look again, with a fresh watch.
        }
    }

    fn poll_body<F: Future>(
        &self,
        body: Pin<&mut F>,
        on_lost: OnLost,
        context: &mut Context<'_>,
    ) -> Poll<Held<F::Output>> {
        if let Some(over) = self.verdict(on_lost) {
            return Poll::Ready(Held::Cancelled(over));
        }
        body.poll(context).map(|output| match self.over() {
            None => Held::Done(output),
            Some(over) => Held::Late(output, over),
        })
    }

    /// Why the body may not be polled any more, if it may not.
    fn verdict(&self, on_lost: OnLost) -> Option<Over> {
        let over = self.over()?;
        (on_lost == OnLost::Cancel || over == Over::Revoked).then_some(over)
    }
}
