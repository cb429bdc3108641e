//! The ACL rules that the guide lists, each of them needed, and no other.

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::request::Kind;
use redlock_core::restart_check::RestartCheck;
use redlock_core::{NodeSet, Request};
use redlock_tests::{NodeOptions, RedisCluster, RedisNode, eventually};

use crate::cluster::fixture::extend_soon;
use crate::core::fixture::reason;
use crate::restart_check::fixture::{SOON, Set, client, once};

/// The ACL rules, line by line, as the guide gives them to an operator.
pub(crate) fn documented() -> Vec<Vec<&'static str>> {
    let page = include_str!("../../../redlock-runtime/guide/operate/acl.md");
    let (_, rest) = page.split_once("```text\n").expect("the list's beginning");
    let (list, _) = rest.split_once("```").expect("the list's end");
    let lines = list.lines().map(|line| {
        let words = line.split_whitespace();
        words.take_while(|word| word.starts_with('+')).collect()
    });
    lines.filter(|rules: &Vec<_>| !rules.is_empty()).collect()
}

/// The commands that the guide has operators paste, as they stand.
fn lines_to_paste() -> Vec<&'static str> {
    let page = include_str!("../../../redlock-runtime/guide/operate/acl.md");
    let lines = page.lines().filter(|line| line.starts_with("ACL SETUSER"));
    lines.collect()
}

/// With all that any of the rules is for.
async fn server() -> RedisNode {
    RedisNode::start_with(NodeOptions::default().append_only()).await
}

/// The URL of a user with these rules. The password has what a URL gives a meaning to.
fn url_of_user(node: &RedisNode, rules: &[&str]) -> String {
    let user = ["ACL", "SETUSER", "locker", "reset", "on", ">p@s:s/w%rd #?"];
    let keys = ["~shop:*", "~redlock:*"];
    node.command(user.iter().chain(&keys).chain(rules).copied());
    node.command(["ACL", "LOG", "RESET"]);
    format!(
        "redis://locker:p%40s%3As%2Fw%25rd%20%23%3F@{}/3",
        node.addr()
    )
}

async fn connected(url: &str) -> Set {
    Set::with([url.to_owned()], RestartCheck::Standard, |options| {
        options.trust_aof(true)
    })
    .await
}

/// What is forbidden, as the server saw it.
fn denials(node: &RedisNode) -> String {
    format!("{:?}", node.command(["ACL", "LOG"]))
}

fn fenced(request: Request) -> Request {
    request.fencing(true)
}

/// Takes a lock for each request, extends it and gives it back.
async fn use_each(
    set: &NodeSet,
    requests: impl IntoIterator<Item = Request>,
) -> Result<(), Box<dyn Error>> {
    for request in requests {
        let lease = client().acquire(set, &request).await?;
        lease.extend(Duration::from_secs(60)).await?;
        assert_eq!(lease.release().await, Released::Confirmed);
    }
    Ok(())
}

/// Does everything that plain locks can do.
async fn use_all(set: &Set) {
    /// The number of uses so far.
    static USES: AtomicU32 = AtomicU32::new(0);

    let set = set.node_set();
    let plain = [once("shop:r"), once(["shop:a", "shop:b"])];
    let permit = once("shop:permits").kind(Kind::Permits(3));
    let requests = plain.clone().into_iter().chain(plain.map(fenced));
    use_each(&set, requests.chain([permit])).await.unwrap();
    be_refused_together(&set).await;
    // A job of its own each time: the server remembers the runs of the others.
    let job = once(format!("shop:job:{}", USES.fetch_add(1, Ordering::Relaxed)));
    let period = Duration::from_secs(120);
    let job = job.once_per(period);
    let mut lease = client().acquire(&set, &job).await.unwrap();
    lease.remember_run();
    lease.release().await;
    let run = client().last_run(&set, &job.resource, period).await;
    assert!(matches!(run, Ok(Some(_))), "{run:?}");
}

/// Looks at a lock of another client, and asks for two of them in one call.
async fn be_refused_together(set: &NodeSet) {
    let names = ["shop:a", "shop:b"];
    let lease = client().acquire(set, &once(names)).await.unwrap();
    let status = client().peek(set, &"shop:a".into()).await.unwrap();
    assert!(status.holder().is_some(), "{status}");
    let (other, [a, b]) = (client(), names.map(once));
    let refused = tokio::join!(other.acquire(set, &a), other.acquire(set, &b));
    lease.release().await;
    for refused in [refused.0, refused.1] {
        let is_contended = matches!(refused, Err(AcquireError::Contended(_)));
        assert!(is_contended, "{refused:?}");
    }
}

/// Readers and a writer, one after the other.
async fn use_shared(set: &Set) -> Result<(), Box<dyn Error>> {
    let set = set.node_set();
    for kind in [Kind::Read, Kind::Write] {
        let request = once("shop:shared").kind(kind);
        use_each(&set, [request.clone(), fenced(request)]).await?;
        let stuck = once("shop:stuck").kind(kind);
        let _stuck = client().acquire(&set, &stuck).await?;
        let released = client().force_release(&set, &stuck.resource).await?;
        assert_eq!(released.taken_from.len(), 1, "{released}");
    }
    Ok(())
}

/// All permits of a resource, and one more attempt, whose release is that of many keys.
async fn use_permits(set: &Set) {
    let (set, request) = (set.node_set(), once("shop:permits").kind(Kind::Permits(10)));
    let mut leases = Vec::new();
    for _ in 0..10 {
        leases.push(client().acquire(&set, &request).await.unwrap());
    }
    let refused = client().acquire(&set, &request.retry_limit(1)).await;
    let is_contended = matches!(refused, Err(AcquireError::Contended(_)));
    assert!(is_contended, "{refused:?}");
    for lease in leases {
        assert_eq!(lease.release().await, Released::Confirmed);
    }
}

/// True if a caller that waits in another process is told of a release.
async fn is_told(node: &RedisNode, set: &Set, url: &str) -> bool {
    let other = connected(url).await.node_set();
    let lease = client().acquire(&set.node_set(), &once("shop:r")).await;
    let lease = lease.unwrap();
    let request = once("shop:r")
        .retry_limit(1)
        .retry_delay(Duration::from_secs(3600));
    let waiting = tokio::spawn(async move { client().acquire(&other, &request).await });
    let told = eventually("a watch, or its refusal", SOON, || async {
        match (node.info("cmdstat_client|caching"), denials(node)) {
            // In which words depends on the version.
            (_, denied) if denied.contains("\"client") => Ok(false),
            (Some(_), _) => Ok(true),
            (None, denied) => Err(denied),
        }
    })
    .await;
    lease.release().await;
    if told {
        let next = tokio::time::timeout(SOON, waiting)
            .await
            .expect("a wake-up");
        next.unwrap().unwrap().release().await;
    } else {
        waiting.abort();
    }
    told
}

/// Uses everything, and sees that nothing else is tried.
async fn use_as(node: &RedisNode, url: &str) {
    let set = connected(url).await;
    assert_eq!(set.votes(), [true]);
    use_all(&set).await;
    use_shared(&set).await.unwrap();
    use_permits(&set).await;
    assert!(is_told(node, &set, url).await);
    assert_eq!(denials(node), "array([])");
}

#[tokio::test]
async fn the_documented_rules_are_enough_for_everything() {
    let node = server().await;
    let rules = documented().concat();
    assert!(rules.len() > 10, "{rules:?}");
    use_as(&node, &url_of_user(&node, &rules)).await;
}

#[tokio::test]
async fn each_line_of_the_page_allows_every_kind_as_it_stands() {
    for line in lines_to_paste() {
        let node = server().await;
        node.command(line.split(' '));
        let url = node.url().replace("://", "://locker:s3cret@");
        use_as(&node, &url).await;
    }
}

#[tokio::test]
async fn without_a_rule_of_the_first_line_the_node_does_not_vote() {
    let all = documented();
    for without in &all[0] {
        let node = server().await;
        let mut rules = all.concat();
        rules.retain(|rule| rule != without);
        let url = url_of_user(&node, &rules);
        // Not for the restart check's sake: a single node without it is refused alike.
        let set = Set::with([url], RestartCheck::Off, |options| options).await;
        let reason = reason(&set.nodes[0]).expect(without).to_string();
        let name = without.trim_start_matches('+');
        assert!(
            reason.contains(without) || reason.contains(&format!("'{name}'")),
            "{without}: {reason}"
        );
        assert!(!reason.contains("p@s"), "{reason}");
        // The reason says what to run on the server.
        let (_, mend) = reason.split_once("run there: ").expect(&reason);
        node.command(mend.split(' '));
        set.until_voting(0).await;
        use_all(&set).await;
    }
}

#[tokio::test]
async fn without_one_of_the_others_the_node_does_without() {
    let all = documented();
    let others = all[1..].concat();
    assert_eq!(others.len(), 16, "{others:?}");
    for without in others {
        let node = server().await;
        let mut rules = all.concat();
        rules.retain(|rule| *rule != without);
        let url = url_of_user(&node, &rules);
        let set = connected(&url).await;
        match without {
            "+info" => assert!(denials(&node).contains("\"info\"")),
            // What becomes of it is said by `acl`, and in the log.
            "+config|get" => assert!(denials(&node).contains("\"config")),
            "+client|tracking" | "+client|caching" => assert!(!is_told(&node, &set, &url).await),
            "+select" => {
                let reason = reason(&set.nodes[0]).expect("no database 3").to_string();
                assert!(reason.contains("select"), "{reason}");
                continue;
            }
            // Nothing is left by a reader that the node refuses, and other locks do without.
            "+zadd" | "+zscore" | "+zrem" | "+zremrangebyscore" | "+zrange" => {
                // However often: that says nothing of the node.
                for _ in 0..5 {
                    let refused = use_shared(&set).await.unwrap_err().to_string();
                    assert!(refused.contains(without), "{refused}");
                    assert_eq!(set.votes(), [true]);
                }
                let left = node.keys();
                let is_lock = |key: &Vec<u8>| key.starts_with(b"shop:");
                assert!(!left.iter().any(is_lock), "{left:?}");
                assert!(!left.iter().any(|key| key.starts_with(b"redlock:readers")));
            }
            // It is tried, and each permit is read by itself then.
            "+mget" => {
                use_permits(&set).await;
                assert!(denials(&node).contains("\"mget\""));
            }
            // It is tried, and all permits are read then.
            "+exists" => {
                use_permits(&set).await;
                assert!(denials(&node).contains("\"exists\""));
            }
            // It is tried, and the whole value is read then.
            "+getrange" => {
                be_refused_together(&set.node_set()).await;
                assert!(denials(&node).contains("\"getrange\""));
            }
            // Only a Cluster and a pool with `replicas` need these.
            "+cluster|slots" | "+cluster|info" | "+wait" => {}
            other => panic!("the guide has {other}; say what it is for"),
        }
        use_all(&set).await;
    }
}

#[tokio::test]
async fn with_these_rules_a_cluster_is_served_while_a_slot_moves() {
    let cluster = RedisCluster::start(0).await;
    for node in cluster.servers() {
        let user = "ACL SETUSER locker reset on >pw ~shop:* ~redlock:*";
        node.command(user.split(' ').chain(documented().concat()));
        node.command(["ACL", "LOG", "RESET"]);
    }
    let url = cluster.url().replace("://", "://locker:pw@");
    let set = Set::with([url], RestartCheck::Off, |options| options).await;
    set.until_voting(0).await;
    let set = set.node_set();
    let name = cluster.name_at(0, "shop:account");
    let slot = cluster.slot_of(&name);
    let lease = client().acquire(&set, &once(&name)).await.unwrap();
    cluster.open_slot(slot, 0, 1);
    lease.extend(SOON).await.unwrap();
    cluster.move_keys(slot, 0, 1);
    cluster.close_slot(slot, 0, 1).await;
    extend_soon(&lease).await;
    assert_eq!(lease.release().await, Released::Confirmed);
    let lease = client().acquire(&set, &once(&name)).await.unwrap();
    assert_eq!(lease.release().await, Released::Confirmed);
    for node in cluster.servers() {
        assert_eq!(denials(node), "array([])");
    }
}
