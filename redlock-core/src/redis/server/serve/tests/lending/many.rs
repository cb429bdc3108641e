//! A connection that is lent to a runtime with many callers.

use super::*;

#[test]
fn many_callers_of_a_runtime_are_served_there_in_few_writes() {
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    let scene = Scene::lent_to(&runtime, NO_LOOKS);
    scene.holds.store(true, Ordering::Relaxed);
    let before = scene.writes.load(Ordering::Relaxed);
    let (inbox, io) = (Arc::clone(&scene.inbox), scene.io.clone());
    let all = runtime.spawn(async move {
        // All of them are in the worker's queue before the first one runs.
        let callers = (0..MANY / 2).map(|_| {
            let (inbox, io) = (Arc::clone(&inbox), io.clone());
            tokio::spawn(async move {
                let round = submit(&inbox, &io, ACQUIRE);
                round.decided().await;
                assert_eq!(round.tally().granted, 1);
            })
        });
        for caller in callers.collect::<Vec<_>>() {
            caller.await.unwrap();
        }
    });
    for _ in 0..MANY / 2 {
        scene.tell.send(()).unwrap();
    }
    runtime.block_on(all).unwrap();
    assert!(scene.inbox.is_lent());
    let writes = scene.writes.load(Ordering::Relaxed) - before;
    assert!(writes < MANY / 8, "{writes} writes");
}
