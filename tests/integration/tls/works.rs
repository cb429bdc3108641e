//! What TLS changes nothing about.

use redlock_core::redis::TlsOptions;
use redlock_tests::{Authority, NodeOptions, Nodes, RedisNode};

use crate::core::kinds::each_kind_excludes_and_is_released;
use crate::tls::fixture::{SOON, client, connect, lock_once, once, trusting};

#[tokio::test]
async fn each_kind_of_lock_excludes_is_waited_for_and_released() {
    let authority = Authority::new();
    let nodes = Nodes::start_with(3, NodeOptions::default().tls(&authority)).await;
    let set = connect(nodes.urls(), &trusting(&authority)).await;
    each_kind_excludes_and_is_released(&set).await;
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn servers_of_either_version_will_do() {
    let authority = Authority::new();
    for version in ["TLSv1.2", "TLSv1.3"] {
        let options = NodeOptions::default().tls(&authority);
        let node = RedisNode::start_with(options.arg("tls-protocols", version)).await;
        lock_once(&connect([node.url()], &trusting(&authority)).await).await;
    }
}

#[tokio::test]
async fn the_name_in_the_url_is_what_the_certificate_has_to_be_for() {
    let authority = Authority::new();
    let named = RedisNode::start_with(NodeOptions::default().tls(&authority)).await;
    let url = named.url().replace("127.0.0.1", "localhost");
    lock_once(&connect([url], &trusting(&authority)).await).await;
}

#[tokio::test]
async fn a_database_and_a_user_are_as_without_tls() {
    let authority = Authority::new();
    let node = RedisNode::start_with(NodeOptions::default().tls(&authority)).await;
    node.command(["ACL", "SETUSER", "me", "on", ">p@ss/w:rd", "~*", "+@all"]);
    let url = format!("rediss://me:p%40ss%2Fw%3Ard@{}/3", node.addr());
    let set = connect([url], &trusting(&authority)).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    assert!(
        node.info("db3")
            .is_some_and(|info| info.starts_with("keys=1"))
    );
    lease.release().await;
}

#[tokio::test]
async fn no_options_are_the_systems_authorities() {
    let authority = Authority::new();
    let node = RedisNode::start_with(NodeOptions::default().tls(&authority)).await;
    let reason = crate::tls::fixture::refusal(&node.url(), &TlsOptions::default()).await;
    assert!(
        reason.contains("CA") || reason.contains("UnknownIssuer"),
        "{reason}"
    );
}
