//! How a waiting caller learns that a lock has become free, also if another process held it.

use std::cell::Cell;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use redlock_core::testing::QuorumWatch;
use redlock_core::{NodeSet, Resource};
use redlock_tests::redis::{self, Value};
use redlock_tests::{Nodes, RedisNode, eventually};

use crate::core::fixture::{SOON, client, connect, once, start};
use crate::core::still_clock::StillClock;

const TTL: Duration = Duration::from_secs(60);

/// On a clock that stands still, so that what completes was told by the nodes.
struct Watcher {
    clock: StillClock,
    set: NodeSet,
}

impl Watcher {
    fn of(set: &NodeSet) -> Self {
        let (clock, set) = (StillClock::default(), set.clone());
        Self { clock, set }
    }

    fn watch(&self, keys: impl Into<Resource>) -> QuorumWatch {
        let clock = self.clock.environment().clock;
        QuorumWatch::begin(&clock, &self.set, &keys.into())
    }
}

/// Waits until the nodes have said for how long the keys are held: longer than `than`.
async fn until_held(watch: &QuorumWatch, than: Duration) -> Duration {
    eventually("the nodes to be seen", SOON, async || {
        let due = watch.due().map(redlock_core::env::Moment::since_origin);
        due.filter(|due| *due > than).ok_or(format!("{due:?}"))
    })
    .await
}

async fn until_free(watch: &QuorumWatch) {
    let free = tokio::time::timeout(SOON, watch.free()).await;
    free.expect("nobody told that it is free");
}

fn is_free(watch: &QuorumWatch) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    pin!(watch.free()).poll(&mut context).is_ready()
}

/// The ids of the connections on which a server tells of keys.
fn trackers(node: &RedisNode) -> Vec<String> {
    let Value::BulkString(list) = node.command(["CLIENT", "LIST"]) else {
        panic!("a list of clients");
    };
    let list = String::from_utf8(list).unwrap();
    let field = |line: &str, name: &str| {
        let mut fields = line.split(' ').filter_map(|field| field.split_once('='));
        fields
            .find(|(found, _)| *found == name)
            .unwrap()
            .1
            .to_owned()
    };
    list.lines()
        .filter(|line| field(line, "flags").contains('t'))
        .map(|line| field(line, "id"))
        .collect()
}

async fn until_trackers(node: &RedisNode, count: usize) -> Vec<String> {
    eventually("the connections", SOON, async || {
        let trackers = trackers(node);
        (trackers.len() == count)
            .then(|| trackers.clone())
            .ok_or(format!("{trackers:?}"))
    })
    .await
}

fn set_everywhere(nodes: &Nodes, key: &str) {
    for node in nodes {
        node.set(key, "someone", Some(TTL));
    }
}

#[tokio::test]
async fn an_expiry_that_a_server_sees_first_is_told() {
    let node = RedisNode::start().await;
    let set = connect([node.url()]).await;
    let watcher = Watcher::of(&set);
    node.set("r", "someone", Some(TTL));
    let watch = watcher.watch("r");
    until_held(&watch, Duration::ZERO).await;
    node.command(["PEXPIRE", "r", "20"]);
    until_free(&watch).await;
}

/// How often a server was asked how long a key lives.
fn questions(node: &RedisNode) -> u64 {
    let Value::BulkString(info) = node.command(["INFO", "commandstats"]) else {
        panic!("statistics");
    };
    let info = String::from_utf8(info).unwrap();
    let calls = info.split("cmdstat_pttl:calls=").nth(1).unwrap_or("0");
    let digits = calls.split(|c: char| !c.is_ascii_digit()).next();
    digits.unwrap_or_default().parse().unwrap_or_default()
}

#[tokio::test]
async fn a_server_that_forgets_whom_it_tells_is_asked_a_few_times_a_second() {
    let node = RedisNode::start().await;
    node.command(["CONFIG", "SET", "tracking-table-max-keys", "1"]);
    let set = connect([node.url()]).await;
    let watcher = Watcher::of(&set);
    let seen = ["r", "s"].map(|key| {
        node.set(key, "someone", Some(TTL));
        watcher.watch(key)
    });
    for watch in &seen {
        until_held(watch, Duration::ZERO).await;
    }
    // The pauses grow from 1 ms to 250 ms, each by a quarter. So the first half second has 22 questions about each key.
    // At a question each 250 ms, eight questions come within 2 s, and not within half a second.
    for count in [50, 8] {
        let (before, began) = (questions(&node), Instant::now());
        eventually("more questions", SOON, async || {
            let more = questions(&node) - before;
            (more >= count).then_some(()).ok_or(more.to_string())
        })
        .await;
        assert!(began.elapsed() > Duration::from_millis(500), "{count}");
    }
    node.del("r");
    until_free(&seen[0]).await;
}

/// Waits until the server is asked about a key again, or until `is_over`.
async fn until_asked(node: &RedisNode, before: u64, is_over: impl Fn() -> bool) {
    eventually("a question", SOON, async || {
        let more = questions(node) - before;
        (more > 0 || is_over())
            .then_some(())
            .ok_or(more.to_string())
    })
    .await;
}

#[tokio::test]
async fn successive_holders_with_one_end_are_asked_about_at_once() {
    let nodes = Nodes::start(2).await;
    let (changing, same) = (&nodes[0], &nodes[1]);
    let mut seen = Vec::new();
    for node in &nodes {
        node.set("r", "holder", Some(TTL));
        let watcher = Watcher::of(&connect([node.url()]).await);
        let watch = watcher.watch("r");
        until_held(&watch, Duration::ZERO).await;
        seen.push((watcher, watch));
    }
    let holders = Cell::new(0);
    let set = |node: &RedisNode, is_other: bool| {
        holders.set(holders.get() + u32::from(is_other));
        let value = if is_other {
            holders.get().to_string()
        } else {
            "holder".to_owned()
        };
        node.command(["SET", "r", &value, "KEEPTTL"]);
    };
    // The pause behind a question about no change grows from 1 ms to over 50 ms.
    for _ in 0..20 {
        let before = [changing, same].map(questions);
        set(changing, true);
        set(same, false);
        until_asked(changing, before[0], || false).await;
        until_asked(same, before[1], || false).await;
    }
    eventually("several questions in one pause", SOON, async || {
        let (paused, mut asked) = (questions(same), 0);
        set(same, false);
        while questions(same) == paused {
            let before = questions(changing);
            set(changing, true);
            until_asked(changing, before, || questions(same) > paused).await;
            asked += 1;
        }
        (asked > 3).then_some(()).ok_or(asked.to_string())
    })
    .await;
}

#[tokio::test]
async fn a_server_that_was_busy_when_it_was_asked_is_asked_about_the_next_lock() {
    let node = RedisNode::start().await;
    node.command(["CONFIG", "SET", "busy-reply-threshold", "1"]);
    let set = connect([node.url()]).await;
    let watcher = Watcher::of(&set);
    node.set("r", "someone", Some(TTL));
    let url = node.url();
    let script = std::thread::spawn(move || {
        let mut connection = redis::Client::open(url)?.get_connection()?;
        let endless = ["while true do end", "0"];
        redis::cmd("EVAL")
            .arg(&endless)
            .query::<Value>(&mut connection)
    });
    eventually("the script", SOON, async || {
        let answer = node.try_command::<Value>(["GET", "r"]);
        answer
            .is_err()
            .then_some(())
            .ok_or_else(|| "none runs".to_owned())
    })
    .await;
    let _early = watcher.watch("r");
    // The server answers in order.
    let refused = client().acquire(&set, &once("other")).await.unwrap_err();
    assert!(refused.to_string().contains("BUSY"), "{refused}");
    node.command(["SCRIPT", "KILL"]);
    assert!(script.join().unwrap().is_err(), "the script was ended");
    let watch = watcher.watch("r");
    until_held(&watch, Duration::ZERO).await;
    node.del("r");
    until_free(&watch).await;
}

#[tokio::test]
async fn a_dead_and_a_hung_minority_are_no_hindrance() {
    let (nodes, set) = start(5).await;
    let watcher = Watcher::of(&set);
    set_everywhere(&nodes, "r");
    nodes[0].freeze();
    nodes[4].kill();
    let watch = watcher.watch("r");
    until_held(&watch, Duration::ZERO).await;
    for node in nodes.iter().skip(1).take(3) {
        assert!(!is_free(&watch));
        node.del("r");
    }
    until_free(&watch).await;
}

#[tokio::test]
async fn a_connection_that_was_killed_is_made_anew() {
    let node = RedisNode::start().await;
    let set = connect([node.url()]).await;
    let watcher = Watcher::of(&set);
    node.set("r", "someone", Some(TTL));
    let watch = watcher.watch("r");
    until_held(&watch, Duration::ZERO).await;
    let old = until_trackers(&node, 1).await;
    node.command(["CLIENT", "KILL", "ID", &old[0]]);
    // The key is deleted while no connection tracks it.
    node.del("r");
    until_free(&watch).await;
    assert_ne!(trackers(&node), old);
}

#[tokio::test]
async fn a_server_that_comes_back_is_looked_at_again() {
    let node = RedisNode::start().await;
    let set = connect([node.url()]).await;
    let watcher = Watcher::of(&set);
    node.set("r", "someone", Some(TTL));
    let watch = watcher.watch("r");
    until_held(&watch, Duration::ZERO).await;
    node.kill();
    assert!(!is_free(&watch));
    node.restart().await;
    until_free(&watch).await;
}

/// What the guide says that a user needs, without and with what is for waiting.
const MINIMAL: [&str; 8] = [
    "+set", "+get", "+del", "+pexpire", "+pttl", "+evalsha", "+eval", "+time",
];
const WAITING: [&str; 2] = ["+client|tracking", "+client|caching"];

fn url_of_user(node: &RedisNode, rules: &[&str]) -> String {
    let user = ["ACL", "SETUSER", "locker", "reset", "on", ">secret", "~*"];
    node.command(user.iter().chain(&MINIMAL).chain(rules).copied());
    format!("redis://locker:secret@{}", node.addr())
}

#[tokio::test]
async fn a_user_that_may_not_be_told_waits_by_pauses_and_is_told_by_the_next_connection() {
    let node = RedisNode::start().await;
    let set = connect([url_of_user(&node, &[])]).await;
    let watcher = Watcher::of(&set);
    node.set("r", "someone", Some(TTL));
    let watch = watcher.watch("r");
    eventually("the server to refuse", SOON, async || {
        let log = format!("{:?}", node.command(["ACL", "LOG"]));
        log.contains("client|tracking").then_some(()).ok_or(log)
    })
    .await;
    until_trackers(&node, 0).await;
    assert_eq!(watch.due(), None);
    assert!(!is_free(&watch));

    let mut request = once("r").retries(u32::MAX);
    request.retry.delay = Duration::from_millis(1);
    let waiting = tokio::spawn({
        let set = set.clone();
        async move { client().acquire(&set, &request).await }
    });
    node.del("r");
    let lease = waiting.await.unwrap().unwrap();

    let user = ["ACL", "SETUSER", "locker"];
    node.command(user.into_iter().chain(WAITING));
    node.command(["CLIENT", "KILL", "USER", "locker"]);
    // A caller that waits from now on makes the next connection ask.
    let mut all_watches = Vec::new();
    eventually("the server to tell", SOON, || {
        all_watches.push(watcher.watch("r"));
        let is_seen = all_watches.iter().any(|watch| watch.due().is_some());
        std::future::ready(is_seen.then_some(()).ok_or("out of sight".to_owned()))
    })
    .await;
    lease.release().await;
}
