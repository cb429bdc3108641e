//! A program with readers, on servers whose ACL does not allow their commands. In a binary of its own: `init`
//! checks every annotated function that is linked in.

use std::time::Duration;

use redlock_runtime::config::RestartCheck;
use redlock_runtime::error::ProblemKind;
use redlock_runtime::{Config, LockError, init, redlock};
use redlock_tests::Nodes;

const SOON: Duration = Duration::from_secs(20);

#[redlock(resource = "shop:report", kind = "read", retry_count = 0)]
async fn shows() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "shop:order", permits = 3)]
async fn charges() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn init_names_the_commands_that_a_pool_has_to_allow() {
    let nodes = Nodes::start(3).await;
    let rules = "reset on >s3cret ~shop:* ~redlock:* +set +get +del +pexpire +pttl +evalsha +eval +time +info";
    let mut config = Config::new()
        .node_timeout(SOON)
        .connect_timeout(SOON)
        .restart_check(RestartCheck::Off);
    for (node, name) in nodes.iter().zip('a'..) {
        let user = ["ACL", "SETUSER", "locker"].into_iter();
        node.command(user.chain(rules.split(' ')));
        let url = node.url().replace("://", "://locker:s3cret@");
        config = config.pool(name, url);
    }
    nodes[2].command(["ACL", "SETUSER", "locker", "+@sortedset", "-zrem"]);

    let refused = init(config.clone()).await.map(|_| ()).unwrap_err();
    let all = "ACL SETUSER locker +zadd +zscore +zrem +zremrangebyscore +zrange";
    let [problem] = refused.problems() else {
        panic!("{refused}");
    };
    assert_eq!(problem.kind, ProblemKind::Denied);
    assert_eq!(problem.site.as_deref(), Some("permissions::shows"));
    assert_eq!(problem.pools, ["a", "b", "c"]);
    assert_eq!(
        problem.to_string(),
        format!(
            "`permissions::shows` (tests/own_process/permissions.rs:13:1) takes a read lock, and 3 of its 3 pools do not \
             allow their user the commands that this needs; run on `a`: {all}; on `b`: {all}; on `c`: \
             ACL SETUSER locker +zrem",
        )
    );
    nodes[0].command(all.split(' '));
    nodes[2].command(["ACL", "SETUSER", "locker", "+zrem"]);
    // The others are a majority.
    let redlock = init(config).await.unwrap();
    for _ in 0..5 {
        shows().await.unwrap();
        charges().await.unwrap();
    }
    assert_eq!(redlock.registry().votes().voting, 3);
    redlock.shutdown().await;
}
