//! The commands that the greeting tries, and the commands that releases are sent as by the results.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_release_is_the_command_that_the_greeting_has_found_allowed() {
    let io = IoThread::start().unwrap();
    let (delifeq, delex) = (
        "DELIFEQ redlock:permissions ",
        "DELEX redlock:permissions IFEQ ",
    );
    let forbidden = "-NOPERM User x has no permissions to run the 'delifeq' command\r\n";
    for (place, (server, version, trial, answer, released_by)) in [
        ("valkey", "9.0.0", Some(delifeq), ":0\r\n", "DELIFEQ r "),
        ("redis", "8.4.0", Some(delex), ":0\r\n", "DELEX r IFEQ "),
        (
            "valkey",
            "9.1.2",
            Some(delifeq),
            "-MOVED 1 a:1\r\n",
            "DELIFEQ r ",
        ),
        (
            "valkey",
            "9.1.2",
            Some(delifeq),
            "-NOPERM No permissions to access a key\r\n",
            "DELIFEQ r ",
        ),
        (
            "valkey",
            "9.1.2",
            Some(delifeq),
            "-DISABLED by the provider\r\n",
            "EVALSHA ",
        ),
        ("valkey", "9.1.2", Some(delifeq), forbidden, "EVALSHA "),
        (
            "redis",
            "8.6.3",
            Some(delex),
            "-ERR unknown command 'DELEX'\r\n",
            "EVALSHA ",
        ),
        ("valkey", "8.1.0", None, "", "EVALSHA "),
        ("redis", "8.2.1", None, "", "EVALSHA "),
    ]
    .into_iter()
    .enumerate()
    {
        let at = Server::start(&format!("trial-{place}"));
        let (driver, inbox) = at.driver(&io);
        // It is owed, and goes first.
        inbox.submit(release(&io), Reply::to_nobody());
        let driver = tokio::spawn(driver.run());
        let mut peer = at.accept().await;
        peer.shake_hands_as(server, version).await;
        if let Some(trial) = trial {
            assert_eq!(peer.command().await, trial);
            peer.answer(answer).await;
        }
        let sent = peer.command().await;
        assert!(sent.starts_with(released_by), "{server} {version}: {sent}");
        driver.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn releases_go_in_one_call_only_if_the_greeting_has_found_it_allowed() {
    let io = IoThread::start().unwrap();
    for (place, is_allowed) in [true, false].into_iter().enumerate() {
        let at = Server::start(&format!("calls-{place}"));
        let (driver, inbox) = at.driver(&io);
        let driver = tokio::spawn(driver.run());
        let mut peer = at.accept().await;
        loop {
            let command = peer.command().await;
            if command.starts_with("EVAL local held, ours") && !is_allowed {
                peer.answer("-NOPERM no permissions to run the 'mget' command\r\n")
                    .await;
                continue;
            }
            peer.answer(&greet(&command, "redis", "7.0.0")).await;
            if command.starts_with("EVALSHA") {
                break;
            }
        }
        until(&inbox, true).await;
        inbox.submit(release(&io), Reply::to_nobody());
        inbox.submit(release(&io), Reply::to_nobody());
        let sent = peer.command().await;
        let keys = if is_allowed { " 2 r r " } else { " 1 r " };
        assert!(sent.contains(keys), "{sent}");
        driver.abort();
    }
}
