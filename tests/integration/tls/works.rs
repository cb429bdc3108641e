//! What TLS changes nothing about.

use redlock_tests::{Authority, NodeOptions, Nodes, RedisNode};

use crate::core::kinds::each_kind_excludes_and_is_released;
use crate::tls::fixture::{SOON, connect, lock_once, trusting};

#[tokio::test]
async fn each_kind_of_lock_excludes_is_waited_for_and_released() {
    let authority = Authority::new();
    let nodes = Nodes::start_with(3, NodeOptions::default().tls(&authority)).await;
    let set = connect(nodes.urls(), &trusting(&authority)).await;
    each_kind_excludes_and_is_released(&set, "kinds").await;
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn the_name_in_the_url_is_what_the_certificate_has_to_be_for() {
    let authority = Authority::new();
    let named = RedisNode::start_with(NodeOptions::default().tls(&authority)).await;
    let url = named.url().replace("127.0.0.1", "localhost");
    lock_once(&connect([url], &trusting(&authority)).await).await;
}
