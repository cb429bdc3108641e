//! Checks that a node serves calls for one key in the order of their submission.

use redlock_core::Request;
use redlock_core::node::Vote;
use redlock_core::request::Kind;

use crate::bench::{Bench, vote};
use crate::{Rig, ServerFault};

pub(crate) async fn many_locks_keep_their_order<R: Rig>(bench: &mut Bench<R>) {
    for (count, is_side_by_side) in [(1, false), (200, false), (200, true)] {
        let firsts: Vec<_> = (0..count).map(|_| bench.lock()).collect();
        let wides: Vec<_> = firsts.iter().map(|it| bench.wider(it)).collect();
        let nexts: Vec<_> = firsts.iter().map(|it| bench.rival(it)).collect();
        let holders = firsts.iter().zip(&wides).zip(&nexts);
        let calls = holders.flat_map(|((first, wide), next)| {
            let held = [first, wide].map(|it| [it.acquire(), it.release()]);
            let calls = held.into_iter().flatten().chain([next.acquire()]);
            calls.enumerate()
        });
        let mut calls: Vec<_> = calls.collect();
        if is_side_by_side {
            calls.sort_by_key(|(step, _)| *step);
        }
        let asked = calls.into_iter().map(|(_, call)| bench.submit(call));
        for asked in asked.collect::<Vec<_>>() {
            granted!(asked, "a call behind those of the holder before");
        }
        for next in &nexts {
            bench.expect_held(next).await;
        }
        bench.undo(&nexts);
        bench.expect_gone(&wides).await;
    }
    bench.until_drained().await;
}

pub(crate) async fn a_refusal_is_a_vote_against<R: Rig>(bench: &mut Bench<R>) {
    let (lock, rig) = (bench.lock(), &bench.rig);
    let (wide, stranger) = (bench.wider(&lock), bench.rival(&lock));
    rig.set(&lock.key, Some(stranger.token.as_bytes())).await;
    for lock in [&lock, &wide] {
        let taken = bench.submit(lock.acquire());
        votes!(taken, Vote::Held(_), "a stranger's lock");
        let undone = bench.submit(lock.release());
        votes!(undone, Vote::Held(_) | Vote::Absent, "a release of nothing");
    }
    bench.expect_held(&stranger).await;
    rig.set(&lock.key, None).await;
    bench.mend().await;
    bench.expect_gone([&wide]).await;
}

pub(crate) async fn each_kind_is_taken_and_released<R: Rig>(bench: &mut Bench<R>) {
    each_kind(bench, false).await;
}

pub(crate) async fn a_flush_of_scripts_loses_nothing<R: Rig>(bench: &mut Bench<R>) {
    each_kind(bench, true).await;
}

/// Takes and releases locks of each kind. If `flushes`, the server forgets its scripts in between.
async fn each_kind<R: Rig>(bench: &Bench<R>, flushes: bool) {
    let flush = async || {
        if flushes {
            bench.rig.inflict(ServerFault::FlushScripts).await;
        }
    };
    for kind in [Kind::Plain, Kind::Permits(2), Kind::Read, Kind::Write] {
        let request = Request::new(bench.name())
            .kind(kind)
            .fencing(kind != Kind::Permits(2));
        let held = bench.held(&request).await;
        let plain = bench.lock_on(&Request::new(request.resource.clone()));
        if request.fencing {
            let beside = bench.submit(plain.acquire());
            votes!(beside, Vote::Held(_), "a plain lock beside {kind}");
        }
        flush().await;
        vote(bench.submit(held.release())).await;
        bench.until_drained().await;
        flush().await;
        let next = bench.lock_on(&request);
        let (taken, undone) = (bench.submit(next.acquire()), bench.submit(next.release()));
        // If a call finds its own key, the node has served it twice.
        votes!(taken, Vote::Granted { .. } | Vote::Failed(_), "free {kind}");
        vote(undone).await;
        bench.until_drained().await;
        granted!(bench.submit(plain.acquire()), "a plain lock behind {kind}");
        bench.undo([&plain]);
        bench.expect_gone([&plain]).await;
    }
}
