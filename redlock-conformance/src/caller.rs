//! Checks that callers may leave at each await, and may call from any thread.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use redlock_core::node::Vote;
use redlock_core::testing::submit;
use tokio::task::yield_now;

use crate::Rig;
use crate::bench::{Bench, elsewhere, vote};

/// Polls `future` once, and again each time it wakes its task, at most `polls` times. Then drops `future`.
async fn drop_after<F: Future>(mut polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| {
        polls -= 1;
        match future.as_mut().poll(context) {
            Poll::Pending if polls == 0 => Poll::Ready(None),
            polled => polled.map(Some),
        }
    })
    .await
}

pub(crate) async fn a_caller_may_leave_at_each_await<R: Rig>(bench: &mut Bench<R>) {
    for polls in 1.. {
        let (lock, own) = (bench.lock(), bench.lock());
        drop(bench.submit(own.acquire()));
        let lease = drop_after(polls, bench.acquire(&lock)).await;
        let is_done = lease.is_some();
        drop(lease);
        bench.undo([&own]);
        bench.until_drained().await;
        bench.expect_gone([&lock, &own]).await;
        if is_done {
            break;
        }
    }
}

pub(crate) async fn a_runtime_of_callers_may_end<R: Rig>(bench: &mut Bench<R>) {
    let (lock, own) = (bench.lock(), bench.lock());
    let (node, acquisition) = (Arc::clone(&bench.node), own.acquire());
    let acquiring = bench.acquire(&lock);
    let taken = elsewhere(move |runtime| {
        runtime.spawn(acquiring);
        runtime.block_on(yield_now());
        runtime.block_on(async { submit(&*node, acquisition) })
    });
    granted!(taken.await, "a call whose runtime has ended");
    bench.undo([&own]);
    bench.until_drained().await;
    bench.expect_gone([&own, &lock]).await;
}

pub(crate) async fn the_runtime_of_the_node_may_end<R: Rig>(bench: &mut Bench<R>) {
    let (lock, rig) = (bench.lock(), Arc::clone(&bench.rig));
    let call = lock.acquire();
    let made = elsewhere(move |runtime| {
        let node = runtime.block_on(rig.node());
        let pending = runtime.block_on(async { submit(&*node, call) });
        (node, pending)
    });
    let (node, pending) = made.await;
    bench.node = node;
    vote(pending).await;
    bench.undo([&lock]);
    bench.mend().await;
    bench.expect_gone([&lock]).await;
}

pub(crate) async fn a_release_may_be_the_last_call<R: Rig>(bench: &mut Bench<R>) {
    let lock = bench.lock();
    let lease = bench.acquire(&lock).await;
    // Only the lease still owns the previous node. Its drop submits the release, and then drops the node.
    bench.renew().await;
    elsewhere(move |_| drop(lease)).await;
    bench.expect_gone([&lock]).await;
}
