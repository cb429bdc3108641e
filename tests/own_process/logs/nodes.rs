//! What is logged of a node.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use redlock_core::redis::{RedisAddress, RedisOptions, Vetting};
use redlock_core::restart_check::{CheckedSet, RestartCheck};
use redlock_core::testing::QuorumWatch;
use redlock_core::{IoThread, Node, NodeSet, Resource};
use redlock_runtime::{Config, Redlock};
use redlock_tests::{NodeOptions, Nodes, RedisNode, eventually, lines};

use crate::SOON;

/// A node of the pool `name`, which is settled, with what its connections run on.
pub(crate) async fn start(
    name: &str,
    url: &str,
    change: impl FnOnce(RedisOptions) -> RedisOptions,
) -> (redlock_core::RedisNode, IoThread) {
    let io = IoThread::start().unwrap();
    let options = RedisOptions::default().connect_timeout(SOON);
    let options = change(options);
    let address = RedisAddress::parse(url).unwrap();
    let node = redlock_core::RedisNode::start(name, address, options, &io);
    node.wait_until_settled().await;
    (node, io)
}

/// Returns in turn what is told of a pool: true for `trouble`, false for `mended`.
fn told(pool: &str, trouble: &str, mended: &str) -> Vec<bool> {
    let of_it = lines().with(&[pool]);
    let is_trouble = |line: &String| {
        let is_trouble = line.contains(trouble);
        (is_trouble || line.contains(mended)).then_some(is_trouble)
    };
    of_it.iter().filter_map(is_trouble).collect()
}

#[tokio::test]
async fn a_node_that_stops_answering_is_logged_once() {
    let lines = lines();
    let node = RedisNode::start().await;
    let (frozen, _io) = start("silent", &node.url(), |options| {
        options
            .heartbeat(Duration::from_millis(10))
            .suspect_after(Duration::from_millis(50))
            .dead_after(SOON * 2)
    })
    .await;
    let told = || told("pool=silent", "node does not answer", "node answers again");
    node.freeze();
    // Each look at the answer finds it more overdue. The first one may be from before the freeze, as
    // a busy machine is as slow as that by itself. So may the answer be that ends the second one.
    let mut overdue = BTreeSet::new();
    for _ in 0..5 {
        let error = eventually("an answer that is more overdue", SOON, || {
            let error = frozen.health().last_error.map(|it| it.error.to_string());
            let error = error.ok_or("no error".to_owned());
            let is_new = |text: &String| text.contains("no answer for") && !overdue.contains(text);
            let new = error.and_then(|text| if is_new(&text) { Ok(text) } else { Err(text) });
            std::future::ready(new)
        })
        .await;
        overdue.insert(error);
    }
    assert_eq!(told().last(), Some(&true), "{overdue:?}");
    node.thaw();
    eventually("an answer", SOON, async || {
        let is_quiet = told().last() == Some(&true);
        if is_quiet { Err(lines.text()) } else { Ok(()) }
    })
    .await;
    let told = told();
    let is_told_once = told.windows(2).all(|two| two[0] != two[1]);
    assert!(is_told_once && told[0], "{told:?}");
}

/// The last line about a node that does not vote must not be that it is connected.
#[tokio::test]
async fn a_node_that_restarts_in_quarantine_is_logged_as_such() {
    let lines = lines();
    let nodes = Nodes::start(3).await;
    let pools = nodes
        .urls()
        .into_iter()
        .zip(["emptied", "other-1", "other-2"]);
    let config = Config::new().node_timeout(SOON).connect_timeout(SOON);
    let config = pools.fold(config, |config, (url, name)| config.pool(name, url));
    let redlock = Redlock::start(config).await.unwrap();
    let told = || told("pool=emptied", "node in quarantine", "node connected");
    eventually("three votes", SOON, async || {
        let votes = redlock.registry().votes().voting;
        (votes == 3).then_some(()).ok_or_else(|| lines.text())
    })
    .await;
    let mut expected = vec![false];
    for _ in 0..2 {
        nodes[0].restart().await;
        expected.extend([false, true]);
        eventually("the quarantine in the log", SOON, async || {
            let told = told();
            if told == expected {
                Ok(())
            } else {
                Err(format!("{told:?}"))
            }
        })
        .await;
    }
    redlock.shutdown().await;
}

/// Otherwise it would be the last line of each program, below that of its shutdown.
#[tokio::test]
async fn a_node_is_not_logged_as_connected_when_its_runtime_ends() {
    let lines = lines();
    let node = RedisNode::start().await;
    let config = Config::new().pool("outlives", node.url());
    let config = config.connect_timeout(SOON);
    let program = std::thread::spawn(|| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let redlock = Redlock::start(config).await.unwrap();
            let registry = redlock.registry().clone();
            redlock.shutdown().await;
            registry
        })
    });
    let registry = program.join().unwrap();
    eventually("the next connection", SOON, async || {
        let health = &registry.health()[0].node_health;
        let is_next = health.is_connected && health.connections == 2;
        is_next.then_some(()).ok_or(format!("{health:?}"))
    })
    .await;
    let told = lines.with(&["pool=outlives", "node connected"]);
    assert_eq!(told.len(), 1, "{told:#?}");
}

#[tokio::test]
async fn a_node_whose_clock_is_off_is_logged_once() {
    let lines = lines();
    let node = RedisNode::start_with(NodeOptions::default().movable_clock()).await;
    let off = Duration::from_secs(90);
    let (checked, _io) = start("clock-off", &node.url(), |options| {
        let set = CheckedSet::new(RestartCheck::Off, SOON, 1, b"");
        options
            .heartbeat(Duration::from_millis(10))
            .checked_set(Arc::new(set))
    })
    .await;
    let ahead = async |is_wanted: fn(i64) -> bool| {
        eventually("a check", SOON, async || {
            let ahead = checked.health().clock.map(|clock| clock.ahead_us);
            ahead
                .filter(|ahead| is_wanted(*ahead))
                .ok_or("another one".to_owned())
        })
        .await;
        let checks = checked.health().answers;
        eventually("further checks", SOON, async || {
            (checked.health().answers > checks + 3)
                .then_some(())
                .ok_or("none".to_owned())
        })
        .await;
    };
    ahead(|us| us.abs() < 500_000).await;
    for _ in 0..2 {
        node.advance_clock(off);
        ahead(|us| us > 80_000_000).await;
        node.set_back_clock(off);
        ahead(|us| us.abs() < 500_000).await;
    }
    let told = lines.with(&["pool=clock-off", "ahead of this host's"]);
    assert_eq!(told.len(), 2, "{told:#?}");
}

#[tokio::test]
async fn a_server_that_does_not_tell_of_released_locks_is_logged_once() {
    let lines = lines();
    let node = RedisNode::start().await;
    let rules = "reset on >s3cret ~* +@all -client|tracking";
    node.command(
        ["ACL", "SETUSER", "untold"]
            .into_iter()
            .chain(rules.split(' ')),
    );
    let address = format!("redis://untold:s3cret@{}", node.addr());
    let (untold, io) = start("untold", &address, |options| options).await;
    let set: NodeSet = Arc::new([Arc::new(untold) as Arc<dyn Node>]);
    let clock = io.environment().clock;
    let watch = || {
        drop(QuorumWatch::begin(&clock, &set, &Resource::from("r")));
    };
    eventually("the server to refuse", SOON, async || {
        watch();
        let stats = node.info("cmdstat_client|tracking").unwrap_or_default();
        let is_refused = stats.contains("rejected_calls=1");
        is_refused.then_some(()).ok_or(stats)
    })
    .await;
    lines.until("does not report released locks").await;
    watch();
    drop(set);
    let told = lines.with(&["does not report released locks"]);
    let is_whole = |line: &String| line.contains("WARN") && line.contains("NOPERM");
    assert!(told.len() == 1 && is_whole(&told[0]), "{told:?}");
    assert!(!lines.text().contains("s3cret"));
}

#[tokio::test]
async fn a_node_that_comes_and_goes_has_few_lines() {
    const CONNECTIONS: u64 = 15;
    let (lines, began) = (lines(), std::time::Instant::now());
    let node = RedisNode::start().await;
    let (flapping, _io) = start("flapping", &node.url(), |options| options).await;
    for count in 1..=CONNECTIONS {
        eventually("the next connection", SOON, async || {
            let health = flapping.health();
            let is_there = health.is_connected && health.connections == count;
            is_there.then_some(()).ok_or(format!("{health:?}"))
        })
        .await;
        node.command(["CLIENT", "KILL", "TYPE", "normal"]);
    }
    let of_it = lines.with(&["pool=flapping"]);
    let at_debug = of_it.iter().filter(|it| it.contains("DEBUG")).count();
    assert!(of_it.len() as u64 >= 2 * CONNECTIONS - 1, "{of_it:#?}");
    // One of each text a second.
    let most = 2 * (began.elapsed().as_secs() + 1);
    assert!((of_it.len() - at_debug) as u64 <= most, "{of_it:#?}");
}

#[tokio::test]
async fn a_trusted_file_that_is_no_longer_synced_is_logged_once() {
    let lines = lines();
    let node = RedisNode::start_with(NodeOptions::default().append_only()).await;
    let (trusted, _io) = start("trusted", &node.url(), |options| {
        options
            .suspect_after(SOON)
            .dead_after(SOON)
            .heartbeat(Duration::from_millis(10))
            .vetting(Vetting::Warn)
            .trust_aof(true)
    })
    .await;
    node.command(["CONFIG", "SET", "appendfsync", "everysec"]);
    lines.until("appendfsync everysec").await;
    // Longer than the second in which a line is held back.
    let answers = trusted.health().answers;
    eventually("further heartbeats", SOON, async || {
        let further = trusted.health().answers - answers;
        (further > 250).then_some(()).ok_or(format!("{further}"))
    })
    .await;
    let told = lines.with(&["pool=trusted", "appendfsync everysec"]);
    assert!(told.len() == 1 && told[0].contains("WARN"), "{told:#?}");
    assert_eq!(trusted.health().connections, 1);
}
