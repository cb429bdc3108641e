//! Checks that a node serves each release despite faults, or keeps it and sends it again later.
//!
//! The faults break connections, freeze and kill servers, and fill nodes.

use std::sync::Arc;

use redlock_core::node::{NodeErrorKind, Vote};
use redlock_core::testing::{Asked, submit};

use crate::bench::{Bench, TestLock, elsewhere, until, vote};
use crate::{FEW, Rig, ServerFault};

pub(crate) async fn a_release_outlives_its_connection<R: Rig>(bench: &mut Bench<R>) {
    for _ in 0..3 {
        let (before, behind) = (bench.taken().await, bench.taken().await);
        let released = bench.submit(before.release());
        bench.rig.inflict(ServerFault::Sever).await;
        bench.undo([&behind]);
        bench.mend().await;
        bench.expect_gone([&before, &behind]).await;
        vote(released).await;
    }
}

pub(crate) async fn a_release_waits_for_a_connection<R: Rig>(bench: &mut Bench<R>) {
    let (own, lost, refused) = (bench.taken().await, bench.taken().await, bench.lock());
    bench.rig.inflict(ServerFault::Cut).await;
    bench.until_voting(false).await;
    let asked = bench.submit(refused.acquire());
    votes!(asked, Vote::Failed(_), "a call without a connection");
    bench.undo([&own, &lost, &refused]);
    assert!(!bench.node.drained(), "it is drained, and owes");
    let next = bench.rival(&lost);
    bench.rig.set(&lost.key, Some(next.token.as_bytes())).await;
    bench.mend().await;
    bench.until_drained().await;
    bench.expect_held(&next).await;
    bench.expect_gone([&own, &refused]).await;
    bench.undo([&next]);
    bench.expect_gone([&next]).await;
}

pub(crate) async fn what_lost_its_answer_is_released<R: Rig>(bench: &mut Bench<R>) {
    let (held, lock, rig) = (bench.taken().await, bench.lock(), &bench.rig);
    bench.rig.inflict(ServerFault::HoldAnswers).await;
    let taken = bench.submit(lock.acquire());
    let released = bench.submit(held.release());
    until("the server to serve calls", async || {
        rig.value(&lock.key).await.is_some() && rig.value(&held.key).await.is_none()
    })
    .await;
    bench.rig.inflict(ServerFault::Sever).await;
    votes!(taken, Vote::Failed(it) if it.was_sent(), "an acquisition that lost its answer");
    bench.undo([&lock]);
    bench.mend().await;
    vote(released).await;
    bench.expect_gone([&held, &lock]).await;
}

pub(crate) async fn an_acquisition_that_comes_late_is_released<R: Rig>(bench: &mut Bench<R>) {
    let lock = bench.lock();
    let locks = [bench.wider(&bench.lock()), lock];
    bench.rig.inflict(ServerFault::HoldRequests).await;
    for taken in locks.each_ref().map(|it| bench.submit(it.acquire())) {
        votes!(taken, Vote::Failed(it) if it.was_sent(), "an acquisition under way");
    }
    bench.until_voting(true).await;
    for released in locks.each_ref().map(|it| bench.submit(it.release())) {
        vote(released).await;
    }
    // The acquisitions arrive only now. The end of the run finds the key of each that is not undone.
    bench.mend().await;
    bench.expect_gone(&locks).await;
}

pub(crate) async fn a_node_is_drained_once_all_is_answered<R: Rig>(bench: &mut Bench<R>) {
    let (lock, left) = (bench.lock(), bench.lock());
    for call in [lock.acquire(), lock.release()] {
        bench.until_drained().await;
        bench.rig.inflict(ServerFault::HoldAnswers).await;
        let asked = bench.submit(call);
        drop(bench.submit(left.acquire()));
        bench.undo([&left]);
        let is_open = asked.answered().is_none() && !bench.node.drained();
        assert!(is_open, "answers are held, and the node says it is drained");
        bench.mend().await;
        votes!(asked, Vote::Granted { .. } | Vote::Failed(_), "a held call");
    }
    bench.until_drained().await;
    bench.expect_gone([&lock, &left]).await;
}

pub(crate) async fn a_frozen_server_votes_no<R: Rig>(bench: &mut Bench<R>) {
    let (held, late) = (bench.taken().await, bench.lock());
    let locks: Vec<_> = (0..100).map(|_| bench.lock()).collect();
    bench.rig.inflict(ServerFault::Freeze).await;
    let calls: Vec<_> = locks.iter().map(TestLock::acquire).collect();
    let node = Arc::clone(&bench.node);
    let submitting = move |call| submit(&*node, call);
    let taken = elsewhere(|_| calls.into_iter().map(submitting).collect::<Vec<_>>());
    for taken in taken.await {
        votes!(taken, Vote::Failed(it) if it.was_sent(), "an acquisition under way");
    }
    bench.until_voting(false).await;
    let asked = bench.submit(late.acquire());
    votes!(asked, Vote::Failed(_), "a call to a frozen server");
    bench.undo(locks.iter().chain([&late, &held]));
    assert!(!bench.node.drained(), "it is drained, and owes");
    bench.mend().await;
    bench.until_drained().await;
    bench.expect_gone(locks.iter().chain([&late, &held])).await;
}

pub(crate) async fn a_server_that_was_killed_votes_again<R: Rig>(bench: &mut Bench<R>) {
    let (held, refused) = (bench.taken().await, bench.lock());
    bench.rig.inflict(ServerFault::Kill).await;
    bench.until_voting(false).await;
    let asked = bench.submit(refused.acquire());
    votes!(asked, Vote::Failed(_), "an acquisition at a dead server");
    bench.undo([&held, &refused]);
    bench.mend().await;
    bench.expect_gone([&held, &refused]).await;
}

pub(crate) async fn a_full_node_refuses_acquisitions_alone<R: Rig>(bench: &mut Bench<R>) {
    bench.rig.inflict(ServerFault::FewPlaces).await;
    bench.renew().await;
    bench.rig.inflict(ServerFault::Freeze).await;
    let locks: Vec<_> = (0..3 * FEW).map(|_| bench.lock()).collect();
    let taken: Vec<_> = locks.iter().map(|it| bench.submit(it.acquire())).collect();
    let released: Vec<_> = locks.iter().map(|it| bench.submit(it.release())).collect();
    let full = NodeErrorKind::Saturated;
    let is_full = |vote: &Vote| matches!(vote, Vote::Failed(it) if it.kind() == full);
    for (place, vote) in taken.iter().map(Asked::answered).enumerate() {
        let is_refused = vote.as_ref().is_some_and(is_full);
        assert_eq!(is_refused, place >= FEW, "call {place}: {vote:?}");
    }
    bench.mend().await;
    for released in released {
        votes!(released, it if !is_full(it), "a release");
    }
    bench.expect_gone(&locks).await;
}
