//! The soak itself: it runs, it does something, and it can fail.

use std::process::{Command, Output};

/// Goes on until each of these rows of its table is there at `least`, on a slow machine for longer.
fn soak(options: &str, least: &[(&str, u64)]) -> (Option<i32>, String) {
    let least = least.iter().map(|(row, least)| format!("{row}={least}"));
    let least = least.flat_map(|row| ["--least".to_owned(), row]);
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_redlock-soak"))
        .args(options.split(' '))
        .args(least)
        .output()
        .expect("the soak can be started");
    let text = [stdout, stderr].concat();
    (status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// A row of the table that the soak prints.
fn row(output: &str, name: &str) -> u64 {
    let rest = |line: &str| {
        line.trim_start()
            .strip_prefix(name)
            .map(str::trim)
            .map(str::parse)
    };
    let value = output.lines().find_map(|line| rest(line)?.ok());
    value.unwrap_or_else(|| panic!("no row `{name}` in:\n{output}"))
}

const SOMETHING_OF_EVERYTHING: [(&str, u64); 20] = [
    ("acquisitions", 50),
    ("with a fencing token", 30),
    ("of several names", 5),
    ("of readers", 10),
    ("of writers", 5),
    ("of permits behind the first", 5),
    ("of offices", 1),
    ("refused: contended", 1),
    ("acquisitions cut off", 1),
    ("bodies that panicked", 1),
    ("writes accepted by the store", 50),
    ("fault: node frozen", 1),
    ("fault: node killed, restarted with its data", 1),
    ("fault: node killed, restarted empty", 1),
    ("fault: network cut", 1),
    ("fault: requests lost", 1),
    ("fault: answers held back", 1),
    ("fault: worker paused", 1),
    ("fault: worker killed and replaced", 1),
    ("faults injected", 13),
];

#[test]
fn a_soak_of_all_kinds_of_locks_finds_nothing_and_does_something_of_everything() {
    let options = "--seconds 40 --processes 3 --nodes 3";
    let (code, output) = soak(options, &SOMETHING_OF_EVERYTHING);
    assert_eq!(code, Some(0), "{output}");
    for (name, least) in SOMETHING_OF_EVERYTHING {
        assert!(
            row(&output, name) >= least,
            "too little of `{name}`:\n{output}"
        );
    }
    for name in [
        "keys leaked",
        "fencing violations",
        "overlaps",
        "other violations",
    ] {
        assert_eq!(row(&output, name), 0, "{output}");
    }
}

/// Removes what a soak keeps of a violation.
fn clean_up(output: &str) {
    let kept = output
        .lines()
        .find_map(|line| line.strip_prefix("the journals are in "));
    let kept = kept.unwrap_or_else(|| panic!("no journals were kept:\n{output}"));
    std::fs::remove_dir_all(kept).expect("a directory of journals");
}

#[test]
fn workers_that_take_no_lock_are_found_out() {
    let options = "--seconds 3 --processes 2 --nodes 3 --sabotage no-lock";
    let (code, output) = soak(options, &[("acquisitions", 200)]);
    assert_eq!(code, Some(1), "{output}");
    assert!(row(&output, "overlaps") > 0, "{output}");
    assert!(row(&output, "fencing violations") > 0, "{output}");
    clean_up(&output);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let (code, output) = soak("--sabotage tea", &[]);
    assert_eq!(code, Some(2));
    assert!(output.contains("usage: redlock-soak"), "{output}");
}
