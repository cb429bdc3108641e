//! The texts that the README shows are what the program says.

use std::time::Duration;

use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, redlock};

/// What stands in the README's blocks of text, line by line.
fn shown() -> Vec<&'static str> {
    let readme = include_str!("../../../README.md");
    let blocks = readme.split("```text\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split_once("```"));
    blocks.flat_map(|(block, _)| block.lines()).collect()
}

/// Without the numbers that come from random pauses.
fn without_durations(text: &str) -> String {
    let words = text.split(' ');
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let words: Vec<_> = words
        .map(|word| if is_number(word) { "_" } else { word })
        .collect();
    words.join(" ")
}

#[redlock(resource = "order:{id}", ttl = "10s")]
async fn charge(id: u64, takes: Duration) -> Result<(), LockError> {
    tokio::time::sleep(takes).await;
    Ok(())
}

async fn refusal(takes: Duration) -> String {
    let error = charge(42, takes).await.expect_err("no lock");
    // A report of the chain of sources would say the same again.
    assert!(std::error::Error::source(&error).is_none(), "{error}");
    error.to_string()
}

#[tokio::test(start_paused = true)]
async fn the_readme_shows_what_the_program_says() {
    let locks = TestLocks::new();
    let mut said = Vec::new();

    let holder = locks.other_client().named("web-7/3121");
    let hold = holder.ttl(Duration::from_millis(12_500)).hold("order:42");
    said.push(refusal(Duration::ZERO).await);
    hold.release();

    let loading = "LOADING Redis is loading the dataset in memory";
    locks.node("b").fail(loading);
    locks.node("c").fail("connection refused");
    said.push(refusal(Duration::ZERO).await);
    locks.restore_all();

    said.push(refusal(Duration::from_secs(3600)).await);

    let bodies = [(1, 1), (2, 1), (3, 3600)];
    for (id, seconds) in bodies {
        tokio::spawn(charge(id, Duration::from_secs(seconds)));
        locks.until_held(format!("order:{id}")).await;
    }
    let report = locks.shutdown().await;
    said.push(refusal(Duration::ZERO).await);
    said.push(report.to_string());

    let said: Vec<_> = said.iter().map(|text| without_durations(text)).collect();
    let shown: Vec<_> = shown().into_iter().map(without_durations).collect();
    assert_eq!(said, shown, "the program, and the README");
}
