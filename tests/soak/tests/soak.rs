//! The soak itself: it runs, it does something of everything, and it can fail.

use std::process::Command;

fn soak(options: &str) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_redlock-soak"))
        .args(options.split(' '))
        .output()
        .expect("the soak can be started");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    (output.status.code(), text)
}

#[test]
fn soak_of_all_kinds_of_locks_and_faults_finds_nothing() {
    let (code, output) = soak("--seconds 40 --processes 3 --nodes 3");
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn hot_fenced_locks_keep_the_order_of_their_tokens() {
    let (code, output) = soak("--turns 40000 --seconds 1 --nodes 3 --resources 2");
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn no_kills_of_holders_lead_to_more_holders_than_permits() {
    let (code, output) = soak("--seconds 1 --nodes 3 --permits --kills 200");
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn workers_that_exclude_nobody_are_found_out() {
    let (code, output) = soak("--seconds 3 --processes 2 --nodes 3 --sabotage");
    assert_eq!(code, Some(1), "{output}");
    for rule in ["Overlap", "Unfit"] {
        assert!(output.contains(&format!("violated: {rule} ")), "{output}");
    }
    let kept = output
        .lines()
        .find_map(|line| line.strip_prefix("the journals are in "));
    let kept = kept.unwrap_or_else(|| panic!("no journals were kept:\n{output}"));
    std::fs::remove_dir_all(kept).expect("a directory of journals");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let (code, output) = soak("--sabotage tea");
    assert_eq!(code, Some(2));
    assert!(output.contains("usage: redlock-soak"), "{output}");
}
