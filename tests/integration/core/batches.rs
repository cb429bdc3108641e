//! Many leases that are renewed together: a node gets their extensions in few calls. The clock is the test's
//! own.

use std::time::Duration;

use redlock_core::error::LeaseEnd;
use redlock_core::lease::Released;
use redlock_core::request::Renewal;
use redlock_core::{Client, Lease, NodeSet};
use redlock_tests::{Nodes, RedisNode, eventually};

use crate::core::fixture::{IO, SOON, client, connect, once, settle, start};
use crate::core::renewal::{patient, until_renewed};
use crate::core::still_clock::StillClock;

/// Longer than it takes any machine to acquire these locks one after the other.
const TTL: Duration = Duration::from_secs(60 * 60);
const LEASES: usize = 200;

/// Where renewals run. A connection that was lent to the test would be taken back by the first extension, and
/// the test's thread might have sent some by themselves until then.
async fn on_the_io_thread<T: Send + 'static>(does: impl Future<Output = T> + Send + 'static) -> T {
    IO.handle().spawn(does).await.unwrap()
}

async fn acquired(client: &Client, set: &NodeSet) -> Vec<Lease> {
    let (client, set) = (client.clone(), set.clone());
    on_the_io_thread(async move {
        let mut leases = Vec::new();
        for number in 0..LEASES {
            let mut request = once(format!("r{number}")).ttl(TTL);
            request.renewal = Renewal::Unlimited;
            leases.push(client.acquire(&set, &request).await.unwrap());
        }
        // A grant that is still out could make up for a node that has lost the key.
        settle(&set).await;
        leases
    })
    .await
}

/// The number of script calls that the server served, those with a text included.
fn calls(node: &RedisNode) -> usize {
    let calls = |command: &str| {
        let stat = node.info(&format!("cmdstat_{command}"))?;
        stat.split(',')
            .next()?
            .strip_prefix("calls=")?
            .parse::<usize>()
            .ok()
    };
    calls("evalsha").unwrap_or(0) + calls("eval").unwrap_or(0)
}

async fn released(leases: Vec<Lease>, nodes: &Nodes) {
    for lease in leases {
        assert_eq!(lease.release().await, Released::Confirmed);
    }
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn leases_that_are_due_together_take_a_node_few_calls() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let leases = acquired(&patient(&clock), &set).await;
    let whole = leases[0].validity();
    // The node of an older connection may not know the script, and another client may have it forget it.
    for (is_flushed, most) in [(false, 12), (true, 12), (false, 8)] {
        if is_flushed {
            nodes.iter().for_each(RedisNode::script_flush);
        }
        let before: Vec<_> = nodes.iter().map(calls).collect();
        clock.advance(whole / 3);
        until_renewed(&leases, whole).await;
        let set = set.clone();
        on_the_io_thread(async move { settle(&set).await }).await;
        let taken: Vec<_> = nodes
            .iter()
            .map(calls)
            .zip(before)
            .map(|(now, before)| now - before)
            .collect();
        assert!(
            taken.iter().all(|calls| (4..=most).contains(calls)),
            "{taken:?} calls for {LEASES} leases"
        );
    }
    released(leases, &nodes).await;
}

#[tokio::test]
async fn of_leases_that_are_renewed_together_only_the_lost_ones_end() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let mut leases = acquired(&patient(&clock), &set).await;
    let whole = leases[0].validity();
    // A majority has lost the keys of two, one of them to another holder. One node has lost the key of a third,
    // and has another holder's for a fourth.
    for node in nodes.iter().take(2) {
        node.del("r7");
        node.set("r8", "thief", Some(TTL));
    }
    nodes[0].del("r9");
    nodes[0].del("r10");
    nodes[0].set("r10", "thief", Some(TTL));
    // A key that is ours, and lost its ttl, gets one again.
    nodes[1].command(["PERSIST", "r11"]);
    clock.advance(whole / 3);
    for number in [8, 7] {
        let lost = leases.remove(number);
        assert_eq!(lost.lost().await, LeaseEnd::Taken(None));
        lost.release().await;
    }
    until_renewed(&leases, whole).await;
    assert!(leases.iter().all(|lease| lease.over().is_none()));
    eventually("the ttl of the key", SOON, || async {
        let left = nodes[1].pttl("r11").left();
        left.map(|_| ()).ok_or_else(|| "none".to_owned())
    })
    .await;
    for node in nodes.iter().take(2) {
        assert_eq!(node.get("r8").as_deref(), Some(&b"thief"[..]));
        node.del("r8");
    }
    nodes[0].del("r10");
    released(leases, &nodes).await;
}

/// Other values for two keys at `node`. Joined, they are the same text as the present values joined.
fn shifted(node: &RedisNode, keys: [&str; 2]) -> [Vec<u8>; 2] {
    let [mut first, mut second] = keys.map(|key| node.get(key).unwrap());
    second.insert(0, first.pop().unwrap());
    [first, second]
}

#[tokio::test]
async fn a_call_extends_no_key_but_ours_and_shortens_none() {
    const HALF: Duration = TTL.checked_div(2).unwrap();
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let mut leases = acquired(&patient(&clock), &set).await;
    let whole = leases[0].validity();
    let mut foreign = Vec::new();
    for node in nodes.iter().take(2) {
        let [one, two] = shifted(node, ["r20", "r21"]);
        let mut same_length = node.get("r22").unwrap();
        same_length.reverse();
        foreign = vec![
            ("r20", one),
            ("r21", two),
            ("r22", same_length),
            ("r23", b"thief".to_vec()),
        ];
        for (key, value) in &foreign {
            node.set(key, value, Some(HALF));
        }
        node.del("r24");
        node.del("r25");
        node.command(["RPUSH", "r25", "thief"]);
        node.command(["PEXPIRE", "r25", &HALF.as_millis().to_string()]);
    }
    for number in 26..LEASES {
        let ttl = if number == 26 { 2 * TTL } else { HALF };
        let ttl = ttl.as_millis().to_string();
        nodes[0].command(["PEXPIRE", &format!("r{number}"), &ttl]);
    }
    clock.advance(whole / 3);
    for lost in leases.drain(20..=25) {
        let end = tokio::time::timeout(SOON, lost.lost()).await;
        assert!(matches!(end, Ok(LeaseEnd::Taken(_))), "{lost:?}: {end:?}");
    }
    until_renewed(&leases, whole).await;
    settle(&set).await;
    let left = |node: usize, key: &str| nodes[node].pttl(key).left().unwrap();
    for node in [0, 1] {
        for (key, value) in &foreign {
            assert_eq!(nodes[node].get(key).as_ref(), Some(value), "{key}");
            assert!(left(node, key) <= HALF, "{key}");
        }
        assert!(left(node, "r25") <= HALF);
    }
    assert!(left(0, "r26") > TTL);
    for number in 27..LEASES {
        let left = left(0, &format!("r{number}"));
        assert!(left > HALF && left <= TTL, "r{number}: {left:?}");
    }
    for node in nodes.iter().take(2) {
        node.command(["DEL", "r20", "r21", "r22", "r23", "r25"]);
    }
    released(leases, &nodes).await;
}

#[tokio::test]
async fn a_user_without_the_commands_of_a_call_has_many_leases_renewed_all_the_same() {
    for more in ["", "+mget", "+pexpireat"] {
        renewed_by_themselves(more).await;
    }
}

async fn renewed_by_themselves(more: &str) {
    let (nodes, set) = start_with_a_user_who_may(more).await;
    let clock = StillClock::default();
    let leases = acquired(&patient(&clock), &set).await;
    let whole = leases[0].validity();
    for _ in 0..2 {
        clock.advance(whole / 3);
        until_renewed(&leases, whole).await;
    }
    released(leases, &nodes).await;
}

/// The node's user has the commands that every lock needs, and these.
async fn start_with_a_user_who_may(more: &str) -> (Nodes, NodeSet) {
    let nodes = Nodes::start(1).await;
    let user = "ACL SETUSER locker on >pw ~* resetchannels -@all +set +get +del +pexpire +pttl +evalsha +eval \
                +time +info +hello +select +client";
    nodes[0].command(user.split(' ').chain(more.split_whitespace()));
    let url = nodes[0].url().replace("redis://", "redis://locker:pw@");
    let set = connect([url]).await;
    (nodes, set)
}

#[tokio::test]
async fn locks_that_were_released_in_one_call_are_free_for_what_comes_behind() {
    for more in ["", "+mget"] {
        let (nodes, set) = start_with_a_user_who_may(more).await;
        let client = client();
        on_the_io_thread(async move {
            // No other client has called a script on this server.
            let a = client.acquire(&set, &once("a")).await.unwrap();
            let b = client.acquire(&set, &once("b")).await.unwrap();
            drop((a, b));
            let again = client.acquire(&set, &once("a")).await;
            again.unwrap_or_else(|error| panic!("with {more:?}: {error}"));
        })
        .await;
        nodes.assert_no_keys(SOON).await;
    }
}

#[tokio::test]
async fn locks_that_are_released_together_take_a_node_few_calls() {
    let (nodes, set) = start(3).await;
    let leases = acquired(&patient(&StillClock::default()), &set).await;
    let before: Vec<_> = nodes.iter().map(calls).collect();
    let after = set.clone();
    on_the_io_thread(async move {
        drop(leases);
        settle(&after).await;
    })
    .await;
    for (node, before) in nodes.iter().zip(before) {
        let taken = calls(node) - before;
        assert!((4..=8).contains(&taken), "{taken} calls for {LEASES} locks");
    }
    nodes.assert_no_keys(SOON).await;
}
