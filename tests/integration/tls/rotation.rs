//! Certificates that are replaced while a process runs.

use std::fs;

use redlock_tests::{Authority, NodeOptions, RedisNode};

use crate::core::fixture::until_abstaining;
use crate::tls::fixture::{connect, lock_once, showing, trusting, until_voting};

#[tokio::test]
async fn replaced_files_count_from_the_next_connection_on() {
    let (old, new) = (Authority::new(), Authority::new());
    let serving = old.issue(&["127.0.0.1"]);
    let options = NodeOptions::default().tls_with(serving.clone(), &old);
    let server = RedisNode::start_with(options.wants_client_certificates()).await;
    let shown = old.issue(&["worker"]);
    let set = connect([server.url()], &showing(&shown, trusting(&old))).await;
    lock_once(&set).await;

    // The authority itself is another one, for the server and for the client.
    serving.replace_by(&new.issue(&["127.0.0.1"]));
    shown.replace_by(&new.issue(&["worker"]));
    fs::copy(new.ca(), old.ca()).unwrap();
    server.kill();
    until_voting(&set[0], false).await;
    server.restart().await;
    until_voting(&set[0], true).await;
    lock_once(&set).await;
}

#[tokio::test]
async fn files_that_make_no_sense_are_the_reason_until_they_do_again() {
    let authority = Authority::new();
    let options = NodeOptions::default().tls(&authority);
    let server = RedisNode::start_with(options).await;
    let shown = authority.issue(&["worker"]);
    let set = connect([server.url()], &showing(&shown, trusting(&authority))).await;
    let key = fs::read(&shown.key).unwrap();
    fs::write(&shown.key, "-----BEGIN PRIV").unwrap();
    server.kill();
    server.restart().await;
    until_abstaining(&set[0], "`tls_key`").await;
    fs::write(&shown.key, key).unwrap();
    until_voting(&set[0], true).await;
    lock_once(&set).await;
}
