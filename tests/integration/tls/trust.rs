//! Servers that are not trusted, and what is said of them; and the certificates of the system.

use std::fs;

use redlock_runtime::{Config, Redlock};
use redlock_tests::{Authority, NodeOptions, RedisNode, Service, wait_until};

use crate::tls::fixture::{SOON, client, connect, once, refusal, trusting};

#[tokio::test]
async fn a_server_of_another_authority_gets_no_word() {
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

/// Starts a registry with pools at these servers, all of which trust `authority`.
async fn start(authority: &Authority, servers: &[&RedisNode]) -> Result<Redlock, String> {
    let config = Config::new().node_timeout(SOON).connect_timeout(SOON);
    let pools = servers.iter().zip(["a", "b", "c"]);
    let config = pools.fold(config, |config, (server, pool)| {
        let config = config.pool(pool, server.url());
        config.tls_ca(pool, authority.ca())
    });
    Redlock::start(config)
        .await
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn bad_certificates_of_a_majority_stop_the_start() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let with = async |identity| {
        RedisNode::start_with(NodeOptions::default().tls_with(identity, &ours)).await
    };
    let good = with(ours.issue(&["127.0.0.1"])).await;
    let foreign = with(theirs.issue(&["127.0.0.1"])).await;
    let expired = with(ours.issue_expired(&["127.0.0.1"])).await;
    let of_another_name = with(ours.issue(&["other.example"])).await;
    for bad in [&foreign, &expired, &of_another_name] {
        let refused = start(&ours, &[bad]).await.unwrap_err();
        assert!(refused.contains("invalid peer certificate"), "{refused}");
    }
    let refused = start(&ours, &[&good, &foreign, &expired]).await;
    assert!(refused.is_err());
    let started = start(&ours, &[&good, &good_too(&ours).await, &expired]).await;
    started.unwrap().shutdown().await;
}

async fn good_too(authority: &Authority) -> RedisNode {
    RedisNode::start_with(NodeOptions::default().tls(authority)).await
}

#[tokio::test]
async fn the_systems_cas_are_read_once_and_a_bad_one_is_left_out() {
    let authority = Authority::new();
    let server = RedisNode::start_with(NodeOptions::default().tls(&authority)).await;
    let own = fs::read_to_string(authority.ca()).unwrap();
    let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let bundle = authority.ca().with_file_name("system.pem");
    fs::write(&bundle, [bad, &own].concat()).unwrap();
    let _holder = Service::spawn_with_args(
        env!("CARGO_BIN_EXE_holder"),
        ["r", "600000", &server.url()],
        [("SSL_CERT_FILE", bundle.display().to_string())],
        "held, ",
    )
    .await;
    fs::remove_file(&bundle).unwrap();
    server.command(["CLIENT", "KILL", "TYPE", "normal"]);
    let clients = || -> String { server.try_command(["CLIENT", "LIST"]).unwrap() };
    let is_back = |clients: &String| clients.contains("resp=3");
    wait_until("another connection", clients, is_back).await;
}
