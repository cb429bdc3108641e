//! One leader, and the next one when it is gone.

use redlock_tests::{Signal, eventually};

use crate::examples::assert_end_well;
use crate::services::LONG;
use crate::services::fleet::Fleet;

/// Waits until a majority of the nodes names a process that is not in `gone`, and all that run see it lead. Returns its
/// index.
async fn leader_but(fleet: &Fleet, gone: &[usize]) -> usize {
    eventually("a leader whom all see", LONG, async || {
        let values = fleet.nodes.values_of("reindex");
        let values: Vec<_> = values
            .iter()
            .flatten()
            .map(|it| String::from_utf8_lossy(it))
            .collect();
        let mut running = (0..fleet.services.len()).filter(|index| !gone.contains(index));
        let leader = running.clone().find(|&index| {
            let owner = format!("/{}/", fleet.services[index].pid());
            values.iter().filter(|it| it.contains(&owner)).count() >= 2
        });
        let leader = leader.ok_or_else(|| fleet.said())?;
        let line = format!("seen: pid {} leads", fleet.services[leader].pid());
        let is_seen = running.all(|index| {
            let said = fleet.services[index].output();
            let last = said.lines().rfind(|line| line.starts_with("seen: "));
            last == Some(line.as_str())
        });
        is_seen.then_some(leader).ok_or_else(|| fleet.said())
    })
    .await
}

#[tokio::test]
async fn a_leader_that_is_killed_or_ends_is_replaced() {
    let mut fleet = Fleet::start("leader", 0, &[]).await;
    for _ in 0..3 {
        fleet.add("leader", "standing").await;
    }
    let first = leader_but(&fleet, &[]).await;
    fleet.services[first].wait_for_line("leading, ", LONG).await;
    fleet.services[first].kill();
    let second = leader_but(&fleet, &[first]).await;
    let ending = &fleet.services[second];
    ending.signal(Signal::TERM);
    assert!(ending.wait(LONG).await.success(), "{ending}");
    ending.wait_for_line("stepping down", LONG).await;
    leader_but(&fleet, &[first, second]).await;
    drop(fleet.services.remove(first));
    assert_end_well(&fleet).await;
}
