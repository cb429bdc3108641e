//! Wake-ups of waiting callers when a lock becomes free, also after another process held it.

use std::cell::Cell;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use redlock_core::testing::QuorumWatch;
use redlock_core::{NodeSet, Resource};
use redlock_tests::redis::{self, Value};
use redlock_tests::{Nodes, RedisNode, eventually, wait_until};

use crate::core::fixture::{SOON, client, connect, once};
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

    /// Watches `key`, which another client holds, and waits until it is seen there.
    async fn watch_held(&self, node: &RedisNode, key: &str) -> QuorumWatch {
        node.set(key, "someone", Some(TTL));
        let watch = self.watch(key);
        until_held(&watch).await;
        watch
    }
}

/// Waits until the nodes have said for how long the keys are held.
async fn until_held(watch: &QuorumWatch) {
    wait_until("the nodes to be seen", || watch.due(), Option::is_some).await;
}

async fn until_free(watch: &QuorumWatch) {
    let free = tokio::time::timeout(SOON, watch.until_free()).await;
    free.expect("nobody told that it is free");
}

fn is_free(watch: &QuorumWatch) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    pin!(watch.until_free()).poll(&mut context).is_ready()
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

pub(super) async fn until_trackers(node: &RedisNode, count: usize) -> Vec<String> {
    let are_all = |trackers: &Vec<String>| trackers.len() == count;
    wait_until("the connections", || trackers(node), are_all).await
}

#[tokio::test]
async fn an_expiry_that_a_server_sees_first_is_told() {
    let node = RedisNode::start().await;
    let set = connect([node.url()]).await;
    let watcher = Watcher::of(&set);
    let watch = watcher.watch_held(&node, "r").await;
    node.command(["PEXPIRE", "r", "20"]);
    until_free(&watch).await;
}

/// How often a server was asked how long a key lives.
fn questions(node: &RedisNode) -> u64 {
    node.calls("pttl")
}

#[tokio::test]
async fn a_key_known_from_an_earlier_watch_is_told_of_unasked() {
    let node = RedisNode::start().await;
    let watcher = Watcher::of(&connect([node.url()]).await);
    drop(watcher.watch_held(&node, "r").await);
    let before = questions(&node);
    let watch = watcher.watch("r");
    until_held(&watch).await;
    assert_eq!(questions(&node), before);
    node.del("r");
    until_free(&watch).await;
}

#[tokio::test]
async fn a_server_that_forgets_whom_it_tells_is_asked_now_and_then() {
    let node = RedisNode::start().await;
    node.command(["CONFIG", "SET", "tracking-table-max-keys", "1"]);
    let set = connect([node.url()]).await;
    let watcher = Watcher::of(&set);
    let seen = ["r", "s"].map(|key| {
        node.set(key, "someone", Some(TTL));
        watcher.watch(key)
    });
    for watch in &seen {
        until_held(watch).await;
    }
    // The pauses grow from 1 ms to 250 ms, each by a quarter. So the first half second has 22 questions about each key.
    // At a question each 250 ms, eight questions come within 2 s, and not within half a second.
    for count in [50, 8] {
        let (before, began) = (questions(&node), Instant::now());
        let more = || questions(&node) - before;
        wait_until("more questions", more, |more| *more >= count).await;
        assert!(began.elapsed() > Duration::from_millis(500), "{count}");
    }
    node.del("r");
    until_free(&seen[0]).await;
}

/// Waits until the server is asked about a key again, or until `is_over`.
async fn until_asked(node: &RedisNode, before: u64, is_over: impl Fn() -> bool) {
    let more = || questions(node) - before;
    wait_until("a question", more, |more| *more > 0 || is_over()).await;
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
        until_held(&watch).await;
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
async fn a_server_that_was_busy_is_asked_about_the_next_lock() {
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
    let is_busy = || node.try_command::<Value>(["GET", "r"]).is_err();
    wait_until("the script", is_busy, |is_busy| *is_busy).await;
    let _early = watcher.watch("r");
    // The server answers in order.
    let refused = client().acquire(&set, &once("other")).await.unwrap_err();
    assert!(refused.to_string().contains("BUSY"), "{refused}");
    node.command(["SCRIPT", "KILL"]);
    assert!(script.join().unwrap().is_err(), "the script was ended");
    let watch = watcher.watch("r");
    until_held(&watch).await;
    node.del("r");
    until_free(&watch).await;
}

#[tokio::test]
async fn a_server_is_looked_at_again_over_the_next_connection() {
    let node = RedisNode::start().await;
    let set = connect([node.url()]).await;
    let watcher = Watcher::of(&set);
    let watch = watcher.watch_held(&node, "r").await;
    let old = until_trackers(&node, 1).await;
    node.command(["CLIENT", "KILL", "ID", &old[0]]);
    // The key is deleted while no connection tracks it.
    node.del("r");
    until_free(&watch).await;
    assert_ne!(trackers(&node), old);

    let watch = watcher.watch_held(&node, "s").await;
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
async fn a_user_that_may_not_be_told_waits_by_pauses_until_it_may() {
    let node = RedisNode::start().await;
    let set = connect([url_of_user(&node, &[])]).await;
    let watcher = Watcher::of(&set);
    node.set("r", "someone", Some(TTL));
    let watch = watcher.watch("r");
    let denials = || format!("{:?}", node.command(["ACL", "LOG"]));
    let are_told = |log: &String| log.contains("client|tracking");
    wait_until("the server to refuse", denials, are_told).await;
    until_trackers(&node, 0).await;
    assert_eq!(watch.due(), None);
    assert!(!is_free(&watch));

    let request = once("r")
        .retry_limit(u32::MAX)
        .retry_delay(Duration::from_millis(1));
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
    let seen = || {
        all_watches.push(watcher.watch("r"));
        all_watches.iter().any(|watch| watch.due().is_some())
    };
    wait_until("the server to tell", seen, |is_seen| *is_seen).await;
    lease.release().await;
}
