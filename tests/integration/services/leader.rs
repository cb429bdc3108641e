//! One leader, and the next one when it is gone.

use redlock_tests::{Pttl, Service, Signal, eventually};
use std::time::Duration;

use crate::services::LONG;
use crate::services::fleet::Fleet;

const TTL: Duration = Duration::from_secs(4);

/// Long enough that a busy machine does not depose a leader that lives.
const SETTINGS: [(&str, &str); 1] = [("LEADER_TTL_MS", "4000")];

/// How many lines of a process begin with this.
fn count(service: &Service, prefix: &str) -> usize {
    let said = service.output();
    let lines = said.lines();
    lines.filter(|line| line.starts_with(prefix)).count()
}

/// How often a process has begun to lead.
fn terms(service: &Service) -> usize {
    count(service, "leading, pid ")
}

/// Whether it leads, by its own words.
fn is_leading(service: &Service) -> bool {
    let ended = ["not leading any more: ", "stepping down after "];
    let ended: usize = ended.map(|prefix| count(service, prefix)).iter().sum();
    terms(service) > ended
}

/// The process that a majority of the nodes names, if there is one.
fn named(fleet: &Fleet) -> Option<usize> {
    let values = fleet.nodes.values_of("leader");
    let texts = values.iter().flatten();
    let texts: Vec<_> = texts.map(|it| String::from_utf8_lossy(it)).collect();
    fleet.services.iter().position(|service| {
        let owner = format!("/{}/", service.pid());
        texts.iter().filter(|it| it.contains(&owner)).count() >= 2
    })
}

/// Waits until each process that is not in `gone` sees `leader` lead.
async fn assert_seen(fleet: &Fleet, leader: usize, gone: &[usize]) {
    let line = format!("/{} leads", fleet.services[leader].pid());
    eventually("observers that see the leader", LONG, async || {
        let others = (0..fleet.services.len()).filter(|index| !gone.contains(index));
        let mut blind = others.filter(|&index| {
            let said = fleet.services[index].output();
            let last = said.lines().rfind(|line| line.starts_with("seen: "));
            !last.is_some_and(|last| last.ends_with(&line))
        });
        match blind.next() {
            None => Ok(()),
            Some(index) => Err(format!("{index} does not: {}", fleet.said())),
        }
    })
    .await;
}

async fn fleet_of(size: usize) -> Fleet {
    let mut fleet = Fleet::start("leader", 0, &SETTINGS).await;
    for _ in 0..size {
        fleet.add("leader", "ready").await;
    }
    fleet
}

/// Waits until one process that is not in `but` leads alone, and returns its index. The first process
/// that began to lead may not be the one: a machine that stalls may depose a living leader.
async fn leader_but(fleet: &Fleet, but: &[usize]) -> usize {
    eventually("a leader", LONG, async || {
        let others = (0..fleet.services.len()).filter(|index| !but.contains(index));
        let leading: Vec<_> = others
            .filter(|&it| is_leading(&fleet.services[it]))
            .collect();
        match (named(fleet), &leading[..]) {
            (Some(named), &[leader]) if named == leader => Ok(leader),
            (named, _) => Err(format!("{named:?} of {leading:?}:\n{}", fleet.said())),
        }
    })
    .await
}

#[tokio::test]
async fn a_leader_that_is_killed_or_ends_is_replaced() {
    let fleet = fleet_of(3).await;
    let first = leader_but(&fleet, &[]).await;
    assert_seen(&fleet, first, &[]).await;

    fleet.services[first].kill();
    // What bounds the wait: the nodes forget the dead leader by themselves.
    for node in &fleet.nodes {
        match node.pttl("leader") {
            Pttl::Left(left) => assert!(left <= TTL, "{left:?}"),
            left => assert_eq!(left, Pttl::Missing),
        }
    }
    let second = leader_but(&fleet, &[first]).await;
    assert_seen(&fleet, second, &[first]).await;

    fleet.services[second].signal(Signal::TERM);
    let ended = &fleet.services[second];
    assert!(ended.wait(LONG).await.success(), "{ended}");
    ended.wait_for_line("stepping down after ", LONG).await;
    ended.wait_for_line("1 finished, 0 cancelled", LONG).await;
    let third = leader_but(&fleet, &[first, second]).await;
    assert_seen(&fleet, third, &[first, second]).await;
}

#[tokio::test]
async fn a_frozen_leader_that_goes_on_knows_its_term_is_over() {
    let fleet = fleet_of(2).await;
    let first = leader_but(&fleet, &[]).await;
    fleet.services[first].freeze();
    let second = leader_but(&fleet, &[first]).await;

    let frozen = &fleet.services[first];
    frozen.thaw();
    frozen.wait_for_line("not leading any more: ", LONG).await;
    assert_eq!(named(&fleet), Some(second), "{frozen}");
    assert_eq!(terms(frozen), 1, "{frozen}");
    // It stands in line again.
    fleet.services[second].signal(Signal::TERM);
    let ended = &fleet.services[second];
    assert!(ended.wait(LONG).await.success(), "{ended}");
    assert_eq!(leader_but(&fleet, &[second]).await, first);
}
