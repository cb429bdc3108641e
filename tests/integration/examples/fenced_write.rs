//! A holder that comes too late, and the store that refuses it.

use redlock_tests::Service;

use crate::services::LONG;
use crate::services::fleet::start_nodes;

#[tokio::test]
async fn a_write_after_a_later_holders_is_refused() {
    let program = Service::build_example("fenced_write").await;
    let (nodes, environment) = start_nodes().await;
    let database = nodes[0].dir().join("bank.db").display().to_string();
    let withdraw = async |amount: &str, ready| {
        let args = [&database, amount];
        Service::spawn_with_args(&program, args, environment.clone(), ready).await
    };
    let late = withdraw("30", "100 in the account, 70 after this").await;
    // It waits for the lock, which the nodes drop after five seconds.
    let later = withdraw("50", "100 in the account, 50 after this").await;
    later.write_line("");
    assert!(later.wait(LONG).await.success(), "{later}");
    later.wait_for_line("withdrawn, 50 left", LONG).await;

    late.write_line("");
    assert!(!late.wait(LONG).await.success(), "{late}");
    late.wait_for_line("nothing withdrawn: token ", LONG).await;
    let next = withdraw("10", "50 in the account, 40 after this").await;
    next.write_line("");
    assert!(next.wait(LONG).await.success(), "{next}");
    nodes.assert_no_lock_keys(LONG).await;
}
