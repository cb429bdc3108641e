//! Other builds of the library next to the present one.

mod builds;

use std::path::Path;
use std::process::{Child, Command, Stdio};

use redlock_tests::{Nodes, TempDir, wait_until};

/// The program of the present build, with all features.
const PRESENT: &str = env!("CARGO_BIN_EXE_contender");

/// For how many ms a build contends.
const SPAN: &str = "4000";

/// Starts a build, and returns once each node has a marker.
async fn start(program: &Path, inside: &Path, nodes: &Nodes) -> Child {
    let mut command = Command::new(program);
    command.arg(inside).arg(SPAN).args(nodes.urls());
    let child = command.stdout(Stdio::piped()).spawn();
    let marked = || nodes.iter().filter(|it| it.get("redlock:marker").is_some());
    wait_until("markers", || marked().count(), |it| *it == nodes.len()).await;
    child.expect("the program starts")
}

/// Returns the number of the build's wire format, and how often it had the lock.
fn outcome(contender: Child) -> [u64; 2] {
    let output = contender.wait_with_output().expect("the program ends");
    assert!(output.status.success(), "two holders were inside at once");
    let output = String::from_utf8(output.stdout).expect("numbers");
    let numbers: Vec<u64> = output.split_whitespace().flat_map(str::parse).collect();
    numbers.try_into().expect("two numbers")
}

/// With one wire format both are served. With two, the older build is, as it came first, and the other one is refused.
#[tokio::test]
async fn an_older_build_and_this_one_exclude_each_other() {
    let older = builds::older();
    let (nodes, folder) = (Nodes::start(3).await, TempDir::new());
    let inside = folder.path().join("inside");
    let older = start(&older, &inside, &nodes).await;
    let present = start(Path::new(PRESENT), &inside, &nodes).await;
    let [older, present] = [older, present].map(outcome);
    println!("wire format and locks of the older build: {older:?}, of this one: {present:?}");
    assert!(older[1] > 0, "the older build was refused");
    assert_eq!(present[1] > 0, present[0] == older[0]);
}

#[test]
fn a_build_without_features_says_what_all_features_say() {
    let texts = [builds::featureless().as_path(), Path::new(PRESENT)].map(|program| {
        let output = Command::new(program).output().expect("the program starts");
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("a text")
    });
    assert!(texts[0].contains("not initialized"), "{}", texts[0]);
    assert_eq!(texts[0], texts[1]);
}
