//! Ten thousand strange configurations and ten thousand strange names: each works or gives a clear
//! error, none causes a panic, and no secret is shown anywhere. These tests are a binary of their own,
//! because they read every log line of the process.
//!
//! All cases come from one seed, so that a run can be repeated: [`SEED`].

mod configurations;
mod extremes;
mod names;
mod secrets;
mod strange;

use std::fmt::{Debug, Display};
use std::time::Duration;

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use redlock_tests::lines;

/// How long a test waits for something that takes milliseconds, on a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// Where all that is random comes from. Another one: `HOSTILE_SEED=7 scripts/test --test hostile`.
const SEED: u64 = 20_261_121;

/// Planted wherever a secret can stand; shown nowhere.
const SECRET: &str = "hunter2Xq";

/// How many configurations there are, of files and variables together, and how many names:
/// ten thousand of each, or a tenth with `HOSTILE_PART=10`.
fn cases() -> u32 {
    10_000 / std::env::var("HOSTILE_PART").map_or(1, |part| part.parse().expect("a number"))
}

/// Makes `cases` cases, always the same ones, and says how to make them again.
fn runner(cases: u32) -> TestRunner {
    let seed = std::env::var("HOSTILE_SEED").map_or(SEED, |seed| seed.parse().expect("a number"));
    eprintln!("{cases} cases of HOSTILE_SEED={seed}");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// Asserts what people expect of an error: one line, not endless, about something, and without a secret.
fn assert_is_clear(error: &(impl Display + Debug)) {
    let text = error.to_string();
    let is_clear = (21..5000).contains(&text.len()) && !text.chars().any(char::is_control);
    assert!(is_clear, "{} bytes: {text:?}", text.len());
    assert_without_secret(&format!("{error} {error:?}"));
}

fn assert_without_secret(shown: &str) {
    assert!(!shown.contains(SECRET), "{shown}");
}

/// Asserts that no line that was logged so far has the planted secret.
fn assert_log_without_secret() {
    let text = lines().text();
    assert!(!text.is_empty(), "nothing was captured");
    text.lines().for_each(assert_without_secret);
}
