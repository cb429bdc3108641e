//! What sentinels say, and do not say.

use redlock_core::node::NodeErrorKind;
use redlock_runtime::{Config, Redlock};
use redlock_tests::{Nodes, RedisNode, SentinelGroup, SentinelOptions, eventually};

use crate::core::fixture::lock_once;
use crate::sentinel::fixture::{
    SOON, brief, impatient, once, reason, single, until_abstaining, until_voting, voting,
};

/// The start of a registry waits for slow nodes, too: it is about what they say.
fn patient() -> Config {
    Config::new().node_timeout(SOON).connect_timeout(SOON)
}

#[tokio::test]
async fn a_dead_and_a_hung_sentinel_hold_nobody_up() {
    let group = SentinelGroup::start().await;
    group.sentinels[0].kill();
    let set = voting(group.url(), brief()).await;
    lock_once(&set).await;
    group.sentinels[1].freeze();
    // One of three answers: the others get their time, and then it has to do.
    let set = voting(group.url(), brief()).await;
    lock_once(&set).await;
}

#[tokio::test]
async fn sentinels_that_are_all_gone_are_named_and_found_again() {
    let group = SentinelGroup::start().await;
    group.sentinels[0].kill();
    group.sentinels[1].kill();
    group.sentinels[2].freeze();
    let set = single(group.url(), brief()).await;
    // A slow machine may not get to hear of a refusal within the second that an attempt gives it.
    eventually("the sentinels' answers", SOON, async || {
        let error = impatient().acquire(&set, &once("r")).await.unwrap_err();
        let text = error.to_string();
        let dead = "connection refused";
        let whys = [dead, dead, "no answer within 1 s"];
        let mut parts = group.sentinels.iter().zip(whys);
        let are_told = parts.all(|(it, why)| text.contains(&format!("{}: {why}", it.addr())));
        are_told.then_some(()).ok_or(text)
    })
    .await;
    assert_eq!(reason(&set[0]).unwrap().kind(), NodeErrorKind::NotConnected);

    group.sentinels[1].restart().await;
    until_voting(&set[0]).await;
    // While the node is connected, it needs no sentinel.
    group.sentinels[1].kill();
    lock_once(&set).await;
}

#[tokio::test]
async fn an_unwatched_name_and_a_server_that_is_no_sentinel_are_named() {
    let group = SentinelGroup::start().await;
    let set = single(group.url().replace("/shop", "/shpo"), brief()).await;
    until_abstaining(&set[0], "no address of `shpo`").await;
    let server = RedisNode::start().await;
    let url = format!("redis+sentinel://{}/shop", server.addr());
    let set = single(url, brief()).await;
    until_abstaining(&set[0], "unknown command").await;
}

#[tokio::test]
async fn a_master_that_hides_its_info_fails_the_restart_check() {
    let group = SentinelGroup::start_with(SentinelOptions::default().password("pw")).await;
    for server in &group.servers {
        server.command("ACL SETUSER app on >pw ~* &* +@all -info".split(' '));
    }
    let url = group.url().replace("://:pw@", "://app:pw@");
    let config = |restart_check| {
        patient()
            .pool("a", url.clone())
            .restart_check(restart_check)
    };
    let checked = Redlock::start(config(redlock_runtime::config::RestartCheck::Standard)).await;
    let text = checked.map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("allow `+info`"), "{text}");
    let unchecked = Redlock::start(config(redlock_runtime::config::RestartCheck::Off)).await;
    assert!(unchecked.is_ok());
}

#[tokio::test]
async fn one_master_under_two_names_and_trust_in_its_file_are_refused() {
    let group = SentinelGroup::start().await;
    let hosts: Vec<_> = group
        .sentinels
        .iter()
        .map(|it| it.addr().to_string())
        .collect();
    let refusal = async |config: Config| {
        let started = Redlock::start(config).await.map(|_| ());
        started.unwrap_err().to_string()
    };
    let turned = format!(
        "redis+sentinel://{},{},{}/shop/3",
        hosts[2], hosts[0], hosts[1]
    );
    let text = refusal(patient().pool("a", group.url()).pool("b", turned)).await;
    assert!(text.contains("one server, shop of 127.0.0.1:"), "{text}");

    let others = Nodes::start(1).await;
    let fewer = format!("redis+sentinel://{}/shop", hosts[0]);
    let config = patient().pool("a", group.url()).pool("b", fewer);
    let text = refusal(config.pool("c", others[0].url())).await;
    assert!(text.contains("is the same server as"), "{text}");

    let text = refusal(patient().pool("a", group.url()).trust_aof("a", true)).await;
    assert!(text.contains("leave `trust_aof` out"), "{text}");
}
