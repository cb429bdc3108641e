//! What `ask` makes of the answers of registries, with programs in the place of their clients.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the script needs. There is no `apt-get` among them.
const TOOLS: [&str; 11] = [
    "bash", "chmod", "head", "id", "mkdir", "mktemp", "rm", "sed", "tail", "timeout", "tr",
];

const NAMES: [&str; 4] = [
    "redlock (redlock-rb, Ruby)",
    "signe/redlock-php",
    "cheprasov/php-redis-lock",
    "redsync (Go)",
];

/// A folder with [`TOOLS`], and with `clients`: the name of each, and its shell script.
fn path_with(test: &str, clients: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("it is ours");
    }
    let path = folder.join("bin");
    fs::create_dir_all(&path).expect("a new folder");
    let all = std::env::var_os("PATH").expect("a PATH");
    for tool in TOOLS {
        let mut found = std::env::split_paths(&all).map(|folder| folder.join(tool));
        let found = found.find(|file| file.exists());
        let found = found.unwrap_or_else(|| panic!("there is no {tool}"));
        symlink(found, path.join(tool)).expect("a link");
    }
    for (client, script) in clients {
        let file = path.join(client);
        fs::write(&file, format!("#!/usr/bin/env bash\n{script}\n")).expect("it is written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    path
}

/// The lines of `not_run` and of `no_program`.
fn asked(test: &str, clients: &[(&str, &str)]) -> [Vec<String>; 2] {
    let path = path_with(test, clients);
    let folder = path.with_file_name("asked");
    let done = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/ask"))
        .arg(&folder)
        .env("PATH", &path)
        .output()
        .expect("it runs");
    assert!(done.status.success(), "{done:?}");
    ["not_run", "no_program"].map(|name| {
        let written = fs::read_to_string(folder.join(name)).expect("it is written");
        written.lines().map(str::to_owned).collect()
    })
}

#[test]
fn a_registry_that_says_no_is_told_in_its_own_words() {
    let [not_run, no_program] = asked(
        "says_no",
        &[
            // It ends as if all were well.
            ("gem", "echo 'ERROR: no such gem' >&2"),
            ("composer", "echo 'no answer'; exit 1"),
        ],
    );
    let php = "composer could not get it: no answer";
    let expected = [
        "gem could not get it: ERROR: no such gem",
        php,
        php,
        "there is no go, and no golang-go of Debian: there is no apt-get",
    ];
    let expected = NAMES
        .iter()
        .zip(expected)
        .map(|(name, why)| format!("{name}: {why}"));
    assert_eq!(not_run, expected.collect::<Vec<_>>());
    assert!(no_program.is_empty(), "{no_program:?}");
}

#[test]
fn a_client_that_can_be_had_needs_a_program() {
    let go = "folder=$GOMODCACHE/cache/download/github.com/go-redsync/redsync/v4/@v
        mkdir -p $folder && echo zip >$folder/v4.zip";
    let [not_run, no_program] = asked(
        "can_be_had",
        &[
            ("gem", "echo gem >redlock-2.gem"),
            // The name is the last word.
            (
                "composer",
                "name=${!#}; mkdir ${name#*/}; echo {} >${name#*/}/composer.json",
            ),
            ("go", go),
        ],
    );
    assert_eq!(no_program, NAMES);
    assert!(not_run.is_empty(), "{not_run:?}");
}
