//! Locks that are acquired and released together: a node gets them in few calls, and each lock gets what it would have got
//! by itself.

use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use redlock_core::error::AcquireError;
use redlock_core::node::{Call, OwnerToken, Vote};
use redlock_core::request::{Kind, MAX_NOTE_BYTES};
use redlock_core::testing::{Calls, scripts, submit};
use redlock_core::{Lease, MemoryNode, NodeSet, Request, Resource};
use redlock_simulation::random::Random;
use redlock_tests::redis::Value;
use redlock_tests::{Nodes, RedisNode};

use crate::core::fixture::{
    IO, SOON, client, connect, once, settle, stand_in_line, start, unhurried,
};

/// Longer than it takes any machine to acquire these locks one after the other.
const TTL: Duration = Duration::from_secs(60 * 60);
const LEASES: usize = 200;

/// The number of script calls that the server served, those with a text included.
fn calls(node: &RedisNode) -> u64 {
    node.calls("evalsha") + node.calls("eval")
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
async fn locks_released_in_one_call_are_free_for_the_next_call() {
    for more in ["", "+mget"] {
        let (nodes, set) = start_with_a_user_who_may(more).await;
        let client = client();
        // No other client has called a script on this server.
        let a = client.acquire(&set, &once("a")).await.unwrap();
        let b = client.acquire(&set, &once("b")).await.unwrap();
        drop((a, b));
        let again = client.acquire(&set, &once("a")).await;
        drop(again.unwrap_or_else(|error| panic!("with {more:?}: {error}")));
        nodes.assert_no_keys(SOON).await;
    }
}

/// Acquires each lock in one attempt. The node runs on the same thread as the test, and sees all attempts at once.
async fn at_once(set: &NodeSet, names: &[&str]) -> Vec<Result<Lease, AcquireError>> {
    let (client, requests): (_, Vec<_>) = (client(), names.iter().map(|it| once(*it)).collect());
    let attempts = requests.iter().map(|it| client.acquire(set, it));
    join_all(attempts).await
}

#[tokio::test]
async fn locks_acquired_or_released_together_take_a_node_few_calls() {
    for is_fenced in [false, true] {
        check_few_calls(is_fenced).await;
    }
}

async fn check_few_calls(is_fenced: bool) {
    let (nodes, set) = start(3).await;
    let client = client();
    let request = |number| once(format!("r{number}")).ttl(TTL).fencing(is_fenced);
    let requests: Vec<_> = (0..LEASES * 2).map(request).collect();
    let (first, second) = requests.split_at(LEASES);
    let acquire = |request| client.acquire(&set, request);
    let count = || nodes.iter().map(calls).collect::<Vec<_>>();
    let before = count();
    // The nodes run on the same thread as this test, and see all calls at once.
    let leases = join_all(first.iter().map(acquire)).await;
    settle(&set).await;
    let between = count();
    drop(leases);
    let others = join_all(second.iter().map(acquire)).await;
    assert!(others.iter().all(Result::is_ok));
    settle(&set).await;
    for (taken, calls) in [(&before, between.clone()), (&between, count())] {
        for (before, after) in taken.iter().zip(calls) {
            let taken = after - before;
            assert!((4..=8).contains(&taken), "{taken} calls for {LEASES} locks");
        }
    }
    drop(others);
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn locks_that_are_acquired_together_have_their_own_ttls() {
    let (nodes, set) = start(1).await;
    let (client, ttls) = (client(), [TTL, TTL * 2]);
    let request = |number: usize| once(format!("r{number}")).ttl(ttls[number % 2]);
    let requests: Vec<_> = (0..8).map(request).collect();
    let attempts = requests.iter().map(|it| client.acquire(&set, it));
    let leases = join_all(attempts).await;
    assert!(leases.iter().all(Result::is_ok));
    for number in 0..8 {
        let left = nodes[0].pttl(format!("r{number}")).left().unwrap();
        assert_eq!(left > TTL, number % 2 == 1, "r{number}: {left:?}");
    }
}

/// Why a lock was refused, without the time that it took.
fn reason(refused: Result<Lease, AcquireError>) -> String {
    let error = refused.map(drop).unwrap_err().to_string();
    error
        .split("; gave up")
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn a_refusal_in_a_call_for_several_concerns_its_own_lock() {
    for (more, reads) in [("+mget", "get"), ("+mget +getrange", "getrange")] {
        let (nodes, set) = start_with_a_user_who_may(more).await;
        nodes[0].command(["RPUSH", "list", "x"]);
        nodes[0].command(["SET", "held", &"x".repeat(1_000_000)]);
        let mut alone = Vec::new();
        for name in ["list", "held"] {
            let refused = client().acquire(&set, &once(name)).await;
            alone.push(reason(refused));
        }
        settle(&set).await;
        let before = nodes[0].calls(reads);
        let together = at_once(&set, &["a", "list", "b", "held"]).await;
        // The script has read what the two keys hold.
        assert!(nodes[0].calls(reads) >= before + 2);
        let [a, list, b, held] = <[_; 4]>::try_from(together).unwrap();
        drop((a.unwrap(), b.unwrap()));
        let refused = [list, held].map(reason);
        assert_eq!(refused[..], alone, "with {more:?}");
        nodes[0].command(["DEL", "list", "held"]);
        nodes.assert_no_keys(SOON).await;
    }
}

/// All nodes have to name a holder alike, if they are asked alone or in a call for several. So no token may be cut.
#[tokio::test]
async fn the_answer_to_one_of_several_calls_has_a_token_as_a_whole() {
    let nodes = Nodes::start(1).await;
    let (host, random) = ("h".repeat(255), "0".repeat(32));
    let note = "n".repeat(MAX_NOTE_BYTES);
    let held = format!("{host}/4294967295/{random} {note}");
    nodes[0].command(["SET", "held", &held]);
    let many = scripts().find(|it| it.name == "many").unwrap();
    let text = many.text().unwrap();
    let answer = nodes[0].command(["EVAL", text, "1", "held", "ours", "1", "1000"]);
    assert_eq!(answer, Value::Array(vec![Value::BulkString(held.into())]));
}

#[tokio::test]
async fn a_lock_that_goes_with_a_forbidden_one_is_not_forbidden() {
    let nodes = Nodes::start(1).await;
    let user = "ACL SETUSER locker on >pw ~mine* ~redlock:* resetchannels +@all";
    nodes[0].command(user.split(' '));
    let url = nodes[0].url().replace("redis://", "redis://locker:pw@");
    let set = connect([url]).await;
    let client = client();
    let (mine, other) = (once("mine").retry_limit(1), once("other"));
    let (mine, other) = tokio::join!(client.acquire(&set, &mine), client.acquire(&set, &other));
    drop(mine.expect("another try, by itself"));
    let refused = other.map(drop).unwrap_err().to_string();
    assert!(!refused.contains("mine"), "{refused}");
    nodes.assert_no_keys(SOON).await;
    let before = nodes[0].calls("evalsha");
    let mine = at_once(&set, &["mine", "mine too"]).await;
    assert!(mine.iter().all(Result::is_ok), "each by itself");
    assert_eq!(nodes[0].calls("evalsha"), before);
}

/// What an answer says, without numbers that depend on the time. In a call for several, all keys are
/// read before any key is deleted, so a release may find a key that another release deletes.
fn gist(vote: &Vote, is_release: bool) -> String {
    match vote {
        Vote::Granted { counter, .. } => format!("granted, fenced: {}", counter.is_some()),
        Vote::Held(_) | Vote::Absent if is_release => "not ours".to_owned(),
        Vote::Held(holding) => format!("held by {:?}", holding.owner()),
        other => format!("{other:?}"),
    }
}

/// Draws a call for a new lock, or for one of those that were asked for.
fn draw(random: &mut Random, asked: &mut Vec<(Calls, OwnerToken)>) -> Call {
    let place = random.index(asked.len().max(1));
    match random.below(20) {
        0 | 1 if !asked.is_empty() => asked[place].0.extend(&asked[place].1, TTL),
        2..9 if !asked.is_empty() => {
            let (calls, token) = asked.swap_remove(place);
            calls.release(&token, TTL, true)
        }
        drawn => {
            let mut request = once(random.pick(&["a", "b", "c", "d", "e", "f"]));
            match drawn {
                9 => request.resource = Resource::all(["a", "b"]),
                10 | 14..=16 => request.fencing = true,
                11 => request = request.kind(Kind::Permits(2)),
                12 => request = request.kind(Kind::Read),
                13 => request = request.kind(Kind::Write),
                _ => {}
            }
            let owner = format!("host-{}/1", random.below(1 << 40));
            let token = OwnerToken::draw(&owner, &*IO.environment().entropy);
            let calls = Calls::of(&request, b"");
            let call = calls.acquire(&token, random.pick(&[TTL, TTL * 2]), 0);
            asked.push((calls, token));
            call
        }
    }
}

#[tokio::test]
async fn calls_that_go_together_have_the_answers_of_calls_in_a_row() {
    let (_nodes, set) = start(1).await;
    let twin = MemoryNode::new("twin", IO.environment().clock);
    let node = set.iter().next().unwrap();
    let (mut random, mut asked) = (Random::new(7), Vec::new());
    for round in 0..200 {
        let count = 1 + random.below(300);
        let mut answers = Vec::new();
        for _ in 0..count {
            let call = draw(&mut random, &mut asked);
            let pair = [submit(&**node, call.clone()), submit(&twin, call.clone())];
            answers.push((call, pair));
        }
        for (call, [real, twin]) in answers {
            let (real, twin) = (real.vote().await, twin.vote().await);
            let [real, twin] = [real, twin].map(|it| gist(&it, call.is_release()));
            assert_eq!(real, twin, "round {round}: {call:?}");
        }
    }
}

/// The counter is ahead of the clock, so each block has one number. Then each holder is released, and the next one
/// acquires on the same connection, next to those of the other locks.
#[tokio::test]
async fn a_used_up_block_is_released_before_it_is_acquired_again() {
    let (nodes, set) = start(1).await;
    let client = unhurried();
    let ahead = SystemTime::UNIX_EPOCH.elapsed().unwrap() + TTL;
    for number in 0..8 {
        let counter = format!("redlock:fence:{{r{number}}}");
        nodes[0].set(&counter, ahead.as_micros().to_string(), None);
    }
    let request = |number| Request::new(format!("r{number}")).ttl(TTL).fencing(true);
    let requests: Vec<_> = (0..8).map(request).collect();
    let mut leases = Vec::new();
    for request in &requests {
        leases.push(client.acquire(&set, request).await.unwrap());
    }
    let number = |lease: &Lease| lease.fencing_token().unwrap().as_u64();
    for _ in 0..10 {
        let before: Vec<_> = leases.iter().map(number).collect();
        let in_line = |request| stand_in_line(&client, &set, request);
        let waiting: Vec<_> = requests.iter().map(in_line).collect();
        drop(leases);
        leases = join_all(waiting)
            .await
            .into_iter()
            .map(Result::unwrap)
            .collect();
        for (lease, before) in leases.iter().zip(before) {
            assert_eq!((lease.attempts(), number(lease)), (1, before + 2));
        }
    }
    drop(leases);
    nodes.assert_no_lock_keys(SOON).await;
}
