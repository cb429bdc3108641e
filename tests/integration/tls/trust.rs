//! Servers that are not trusted, and what is said of them.

use redlock_tests::{Authority, NodeOptions, RedisNode};

use crate::tls::fixture::{client, connect, once, refusal, trusting};

#[tokio::test]
async fn a_server_of_another_authority_is_not_trusted_and_gets_no_word() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let options = NodeOptions::default().tls(&theirs).password("s3cret");
    let server = RedisNode::start_with(options).await;
    let reason = refusal(&server.url(), &trusting(&ours)).await;
    assert_eq!(reason, "invalid peer certificate: UnknownIssuer");
    let set = connect([server.url()], &trusting(&ours)).await;
    let error = client().acquire(&set, &once("r")).await.unwrap_err();
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
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
        let names = ["other.example", "10.9.8.7", asked];
        assert!(names.iter().all(|name| reason.contains(name)), "{reason}");
    }
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let authority = Authority::new();
    let identity = authority.issue_expired(&["127.0.0.1"]);
    let options = NodeOptions::default().tls_with(identity, &authority);
    let server = RedisNode::start_with(options).await;
    let reason = refusal(&server.url(), &trusting(&authority)).await;
    assert!(reason.contains("expired"), "{reason}");
}
