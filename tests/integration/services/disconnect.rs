//! A client that hangs up frees the order.

use crate::services::fleet::{Fleet, key, slow};
use crate::services::{FRAMEWORKS, LONG};
use redlock_tests::check_no_overlap;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const ORDER: u64 = 7;

#[tokio::test]
async fn a_client_that_hangs_up_frees_the_lock_on_all_nodes() {
    for example in FRAMEWORKS {
        let fleet = Fleet::start(example, 1, &[]).await;
        let mut client = TcpStream::connect(fleet.addr()).await.unwrap();
        let path = slow(ORDER);
        let request = format!("POST {path} HTTP/1.1\r\nHost: orders\r\nContent-Length: 0\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        fleet.until_entered().await;
        let held = fleet.nodes.values_of(key(ORDER));
        assert!(held.iter().flatten().count() >= 2, "{example}: {held:?}");

        drop(client);
        fleet.nodes.assert_no_lock_keys(LONG).await;
        assert_eq!(check_no_overlap(fleet.journal()), Ok(1), "{example}");
        assert!(fleet.services[0].is_running());
    }
}
