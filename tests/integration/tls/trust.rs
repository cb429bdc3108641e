//! Servers that are not trusted, and what is said of them.

use redlock_core::Node as _;
use redlock_core::node::NodeStatus;
use redlock_tests::{Authority, NodeOptions, RedisNode, eventually};

use crate::tls::fixture::{SOON, client, connect, node, once, patient, refusal, trusting};

#[tokio::test]
async fn a_server_of_another_authority_is_not_trusted_and_gets_no_word() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let options = NodeOptions::default().tls(&theirs).password("s3cret");
    let server = RedisNode::start_with(options).await;
    let reason = refusal(&server.url(), &trusting(&ours)).await;
    assert!(
        reason.contains("not trusted") && reason.contains("`tls_ca`"),
        "{reason}"
    );
    let set = connect([server.url()], &trusting(&ours)).await;
    let error = client().acquire(&set, &once("r")).await.unwrap_err();
    assert!(error.to_string().contains("not trusted"), "{error}");
    assert!(!error.to_string().contains("s3cret"), "{error}");
    // Nobody has logged in, or tried to.
    assert_eq!(server.info("cmdstat_hello"), None);
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused_with_both_names() {
    let authority = Authority::new();
    let identity = authority.issue(&["other.example", "10.9.8.7"]);
    let options = NodeOptions::default().tls_with(identity, &authority);
    let server = RedisNode::start_with(options).await;
    let url = server.url().replace("127.0.0.1", "localhost");
    for (url, asked) in [(server.url(), "127.0.0.1"), (url, "localhost")] {
        let reason = refusal(&url, &trusting(&authority)).await;
        assert!(
            reason.contains("for other.example, 10.9.8.7, not for")
                && reason.contains(&format!("not for {asked};"))
                && reason.contains("`tls_server_name`"),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let authority = Authority::new();
    let identity = authority.issue_expired(&["127.0.0.1"]);
    let options = NodeOptions::default().tls_with(identity, &authority);
    let server = RedisNode::start_with(options).await;
    let reason = refusal(&server.url(), &trusting(&authority)).await;
    assert!(reason.contains("has expired"), "{reason}");
}

#[tokio::test]
async fn an_authoritys_own_certificate_is_no_servers() {
    let authority = Authority::new();
    let options = NodeOptions::default().tls_with(authority.own_identity(), &authority);
    let server = RedisNode::start_with(options).await;
    let reason = refusal(&server.url(), &trusting(&authority)).await;
    assert!(reason.contains("that of a CA itself"), "{reason}");
}

#[tokio::test]
async fn a_plain_url_to_a_tls_port_says_so() {
    let authority = Authority::new();
    let server = RedisNode::start_with(NodeOptions::default().tls(&authority)).await;
    let url = server.url().replace("rediss", "redis");
    let reason = refusal(&url, &redlock_core::redis::TlsOptions::default()).await;
    assert!(reason.contains("rediss://"), "{reason}");
}

#[tokio::test]
async fn a_tls_url_to_a_plain_port_says_so() {
    let authority = Authority::new();
    let server = RedisNode::start().await;
    let url = server.url().replace("redis", "rediss");
    let mut options = patient();
    // A server that takes the handshake for half a command waits for the rest of it.
    options.connect_timeout = std::time::Duration::from_millis(500);
    let node = node(&url, &trusting(&authority), options);
    // On a slow machine an attempt may be given up before its handshake has begun; others follow.
    eventually("the reason", SOON, async || match node.status() {
        NodeStatus::Abstaining(reason) if reason.to_string().contains("speak TLS") => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
}
