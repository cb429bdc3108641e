//! `locked!`: a block under a lock.

use std::time::Duration;

use redlock_runtime::{LockError, Resource, locked};

use crate::runtime::fixture::{
    SOON, Stage, registry, spawn_on, stage, start, until_held_everywhere,
};

struct Order {
    id: u64,
}

async fn charge(order: Order, mut stage: Stage) -> Result<u64, LockError> {
    locked!(resource = "order:{order.id}", ttl = 20_000, async {
        stage.play().await;
        order.id * 2
    })
    .await
}

#[tokio::test]
async fn the_block_runs_under_its_resource_and_leaves_no_key() {
    let (nodes, redlock) = start(3).await;
    let (stage, director) = stage();
    let call = spawn_on(&redlock, charge(Order { id: 42 }, stage));
    director.begun.await.unwrap();
    until_held_everywhere(&nodes, "order:42").await;
    let held = redlock.registry().held();
    assert_eq!(held.len(), 1);
    assert_eq!(held[0].ttl, Duration::from_secs(20));
    let name = held[0].site.unwrap().site_name();
    assert!(name.contains("runtime::block::line_"), "{name}");

    director.end.send(()).unwrap();
    assert_eq!(call.await.unwrap().unwrap(), 84);
    nodes.assert_no_lock_keys(SOON).await;
    assert!(redlock.registry().held().is_empty());
}

/// Two blocks in one macro.
macro_rules! both {
    () => {
        async {
            let sites = || {
                let held = redlock_runtime::current().expect("a block runs under its lock");
                held.site().expect("a block has a site")
            };
            let one = locked!(resource = "one", async { sites() }).await;
            let other = locked!(resource = "other", async { sites() }).await;
            [one.unwrap(), other.unwrap()]
        }
    };
}

#[tokio::test]
async fn the_blocks_of_a_macro_have_names_of_their_own() {
    let (nodes, redlock) = start(1).await;
    let first = line!() + 1;
    let sites = registry(&redlock).scope(both!()).await;
    let more = registry(&redlock).scope(both!()).await;
    let all: Vec<String> = sites
        .into_iter()
        .chain(more)
        .map(|it| it.site_name().to_owned())
        .collect();
    let names: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(names.len(), 4, "{all:?}");
    for (name, line) in all.iter().zip([first, first, first + 1, first + 1]) {
        assert!(
            name.contains(&format!("::line_{line}_")),
            "{name}, line {line}"
        );
    }
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_dropped_block_leaves_no_key() {
    let (nodes, redlock) = start(3).await;
    let (stage, director) = stage();
    let call = spawn_on(&redlock, charge(Order { id: 1 }, stage));
    director.begun.await.unwrap();
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_block_returns_what_it_returns_inside_of_a_result() {
    let (nodes, redlock) = start(1).await;
    let numbers = async {
        let mut all = Vec::new();
        for text in ["1", "x", "3"] {
            let parsed = locked!(resource = "number:{text}", async {
                if text == "3" {
                    return Ok(0);
                }
                Ok::<u64, std::num::ParseIntError>(text.parse::<u64>()? + 1)
            });
            all.push(parsed.await.unwrap().ok());
        }
        all
    };
    let numbers = registry(&redlock).scope(numbers).await;
    assert_eq!(numbers, [Some(2), None, Some(0)]);
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_block_has_its_lease() {
    let (nodes, redlock) = start(1).await;
    let resource = locked!(resource = "guarded", guard = lease, async {
        lease.resource().clone()
    });
    let resource = registry(&redlock).scope(resource).await.unwrap();
    assert_eq!(resource, Resource::from("guarded"));
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_block_that_does_not_get_the_lock_does_not_run() {
    let (nodes, redlock) = start(3).await;
    let (stage, director) = stage();
    let call = spawn_on(&redlock, charge(Order { id: 7 }, stage));
    director.begun.await.unwrap();

    let refused = locked!(resource = "order:7", async { panic!("not locked") });
    let refused: Result<u8, LockError> = registry(&redlock).scope(refused).await;
    assert!(refused.unwrap_err().is_contended());
    let skipped = locked!(resource = "order:7", if_locked = "skip", async { 1 });
    assert_eq!(registry(&redlock).scope(skipped).await.unwrap(), None);
    let other = locked!(resource = "order:8", if_locked = "skip", async { 1 });
    assert_eq!(registry(&redlock).scope(other).await.unwrap(), Some(1));

    director.end.send(()).unwrap();
    call.await.unwrap().unwrap();
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_block_that_outlives_its_lease_is_cancelled() {
    let (nodes, redlock) = start(1).await;
    let forever = locked!(resource = "short", ttl = "1s", retry_count = 20, async {
        std::future::pending::<()>().await;
    });
    let error = registry(&redlock).scope(forever).await.unwrap_err();
    assert!(error.is_lost(), "{error}");
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_block_is_a_site_that_is_registered_once() {
    let name = "block::named";
    let named = |id: u64| {
        locked!(
            resource = "named:{id}",
            name = "block::named",
            async move { id }
        )
    };
    drop((named(1), named(2)));
    let sites = redlock_runtime::registry::sites();
    let sites: Vec<_> = sites
        .iter()
        .filter(|site| site.site_name() == name)
        .collect();
    assert_eq!(sites.len(), 1);
    assert_eq!(sites[0].resource_template(), "named:{id}");
    assert!(sites[0].file().ends_with("runtime/block.rs"));
}
