//! A writer that becomes a reader.

use redlock_core::error::ExtendError;
use redlock_core::lease::Released;
use redlock_core::node::Obstacle;
use redlock_core::request::Kind;

use crate::core::fixture::{SOON, connect, settle, start};
use crate::sharing::fixture::{
    TTL, acquired, plain, reads, refused, until_entries, until_there, writes,
};

#[tokio::test]
async fn a_writer_that_becomes_a_reader_lets_readers_in_and_no_writer() {
    for n in [1, 3] {
        let (nodes, set) = start(n).await;
        let mut request = writes();
        request.fencing = true;
        let lease = acquired(&set, &request).await;
        let token = lease.fencing_token();
        assert_eq!(lease.kind(), Kind::Write);
        lease.downgrade().await.unwrap();
        assert_eq!((lease.kind(), lease.fencing_token()), (Kind::Read, token));
        settle(&set).await;
        until_entries(&nodes, 1).await;
        let reader = acquired(&set, &reads()).await;
        assert_eq!(refused(&set, &writes()).await.0, Obstacle::Readers);
        lease.extend(TTL).await.unwrap();
        assert_eq!(lease.release().await, Released::Confirmed);
        assert_eq!(refused(&set, &writes()).await.0, Obstacle::Readers);
        reader.release().await;
        nodes.assert_no_lock_keys(SOON).await;
    }
}

#[tokio::test]
async fn a_node_that_did_not_hear_of_it_hears_with_the_extension() {
    let (nodes, _) = start(3).await;
    let proxy = redlock_tests::Proxy::start(&nodes[0]).await;
    let urls = [proxy.url(), nodes[1].url(), nodes[2].url()];
    let set = connect(urls).await;
    let lease = acquired(&set, &writes()).await;
    settle(&set).await;
    proxy.cut().await;
    lease.downgrade().await.unwrap();
    assert_ne!(nodes[0].get("r").unwrap(), b"redlock:readers");
    proxy.restore().await;
    crate::core::fixture::until_voting(&set[0], true).await;
    lease.extend(TTL).await.unwrap();
    settle(&set).await;
    until_entries(&nodes, 1).await;
    lease.release().await;
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_writer_behind_it_is_known_to_wait() {
    let (nodes, set) = start(3).await;
    let lease = acquired(&set, &writes()).await;
    let other = set.clone();
    let writer = tokio::spawn(async move {
        let request = crate::sharing::fixture::patiently(writes());
        crate::core::fixture::client()
            .acquire(&other, &request)
            .await
    });
    until_there(&nodes, crate::sharing::fixture::INTENT).await;
    lease.downgrade().await.unwrap();
    assert_eq!(refused(&set, &reads()).await.0, Obstacle::WaitingWriter);
    lease.release().await;
    writer.await.unwrap().unwrap().release().await;
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn only_a_writer_becomes_a_reader() {
    let (nodes, set) = start(1).await;
    for request in [plain(), reads()] {
        let lease = acquired(&set, &request).await;
        let error = lease.downgrade().await.unwrap_err();
        assert!(matches!(error, ExtendError::Invalid(_)), "{error}");
        assert!(error.to_string().contains("mode = \"write\""), "{error}");
        lease.release().await;
    }
    let lease = acquired(&set, &writes()).await;
    let handle = lease.handle();
    lease.release().await;
    let error = handle.downgrade().await.unwrap_err();
    assert!(matches!(error, ExtendError::Ended(_)), "{error}");
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_downgrade_that_is_dropped_is_sent() {
    let (nodes, set) = start(3).await;
    let lease = acquired(&set, &writes()).await;
    let _ = redlock_tests::drop_after(1, lease.downgrade()).await;
    assert_eq!(lease.kind(), Kind::Read);
    settle(&set).await;
    until_entries(&nodes, 1).await;
    drop(lease);
    nodes.assert_no_keys(SOON).await;
}
