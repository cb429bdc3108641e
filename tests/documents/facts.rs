//! Facts of the sources that documents state: constants, crates, features, lengths, figures.

use std::collections::BTreeSet;

use crate::{GUIDE, assert_none, files, read, root};

/// A constant or a figure as its file has it, how documents say it, and the documents.
const CONSTANTS: [(&str, &str, &str, &[&str]); 8] = [
    (
        "redlock-core/src/node/mod.rs",
        "WIRE_FORMAT: u32 = 1;",
        "Wire format 1",
        &[
            "redlock-runtime/guide/reference/wire_format.md",
            "CHANGELOG.md",
        ],
    ),
    (
        "redlock-core/src/waiting/turn.rs",
        "LONGEST_TURN_PAUSE: Duration = Duration::from_secs(2);",
        "after 2 s",
        &[
            "redlock-macros/src/reference.md",
            "redlock-runtime/src/parameters/table.rs",
            "redlock-core/src/client/path_of_a_lock.md",
        ],
    ),
    (
        "redlock-core/src/waiting/fair_share.rs",
        "TRIPS: u32 = 8;",
        "eight times as long",
        &[
            "redlock-runtime/guide/tasks/waiting.md",
            "redlock-core/src/waiting/lines.md",
            "benches/RESULTS.md",
        ],
    ),
    (
        "redlock-core/src/redis/vetting.rs",
        "locks need Redis 7.0 or later",
        "Redis 7.0",
        &["README.md", "redlock-runtime/guide/operate/servers.md"],
    ),
    (
        "redlock-runtime/src/config/settings.rs",
        "max_ttl: Duration = Duration::from_secs(300)",
        "5 min",
        &[
            "README.md",
            "redlock-macros/src/reference.md",
            "redlock-runtime/guide/operate/restarted_nodes.md",
        ],
    ),
    (
        "tests/rooms/documents.rs",
        "MOST_BYTES: usize = 15_000;",
        "15 000 bytes",
        &["CONTRIBUTING.md"],
    ),
    (
        "benches/RESULTS.md",
        "make 1.26 (1.23–1.30), ",
        "a lone caller locks and releases 1.26 times (1.23–1.30) as often as with `rslock`",
        &["README.md"],
    ),
    (
        "benches/RESULTS.md",
        "| redlock | 2139 | 2.50 |",
        "took 2.5 % of a core",
        &["redlock-runtime/guide/tasks/long_work.md"],
    ),
];

/// Returns the words of a text with one space between them, without the marks of comments.
fn words(text: &str) -> String {
    let words = text.split_whitespace();
    words
        .filter(|word| !["///", "#"].contains(word))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn documents_have_the_constants_of_the_sources() {
    let mut wrong = Vec::new();
    for (source, constant, said, documents) in CONSTANTS {
        assert!(read(source).contains(constant), "{source}: {constant}");
        let other = documents
            .iter()
            .filter(|it| !words(&read(it)).contains(said));
        wrong.extend(other.map(|it| format!("{it} does not say `{said}`, as {source} does")));
    }
    assert_none(&wrong);
}

#[test]
fn every_path_in_contributing_exists() {
    let text = read("CONTRIBUTING.md");
    let code = text.split('`').skip(1).step_by(2);
    let is_path =
        |it: &&str| it.starts_with("redlock-") && it.contains('/') || it.starts_with("tests/");
    let paths: Vec<_> = code.filter(is_path).collect();
    assert!(paths.len() > 20, "{paths:?}");
    let gone = paths.into_iter().filter(|it| !root().join(it).exists());
    assert_none(&gone.map(str::to_owned).collect::<Vec<_>>());
}

#[test]
fn documents_have_the_number_of_published_crates() {
    const NUMBERS: [&str; 7] = ["no", "one", "two", "three", "four", "five", "six"];
    let published: BTreeSet<_> = files("toml")
        .into_iter()
        .filter(|(path, text)| path.ends_with("Cargo.toml") && !text.contains("publish = false"))
        .filter_map(|(path, _)| Some(path.parent()?.to_str()?.to_owned()))
        .filter(|folder| folder.starts_with("redlock-") && !folder.contains('/'))
        .collect();
    let script = read(".ci/run");
    let (_, of_script) = script.split_once("crates=(").expect("a list");
    let (of_script, _) = of_script.split_once(')').expect("its end");
    let of_script: BTreeSet<_> = of_script.split_whitespace().map(str::to_owned).collect();
    assert_eq!(of_script, published, ".ci/run and the manifests");
    let mut wrong = Vec::new();
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = words(&read(document));
        let said: Vec<_> = text
            .split(" crates")
            .filter_map(|it| it.rsplit(' ').next())
            .collect();
        let said = said[..said.len() - 1]
            .iter()
            .filter(|it| NUMBERS.contains(it));
        let other = said.filter(|it| **it != NUMBERS[published.len()]);
        wrong.extend(other.map(|it| format!("{document}: {it} crates, and not {published:?}")));
    }
    assert_none(&wrong);
}

#[test]
fn the_changelog_and_the_first_page_name_each_feature() {
    let manifest = read("redlock-runtime/Cargo.toml");
    let (_, features) = manifest.split_once("[features]").expect("features");
    let (features, _) = features.split_once("\n[").expect("their end");
    let features = features.lines().filter_map(|line| line.split_once(" = "));
    let names = features.map(|(name, _)| name).filter(|it| *it != "default");
    let features = names.map(|name| format!("`{name}`"));
    let (changes, page) = (
        read("CHANGELOG.md"),
        read(format!("{GUIDE}/start/first_lock.md")),
    );
    let absent = features.filter(|it| !changes.contains(it) || !page.contains(it));
    assert_none(&absent.collect::<Vec<_>>());
}

#[test]
fn no_source_has_more_lines_than_the_architecture_says() {
    let said = "No file has more than 400 lines of code, without blank ones and comments.";
    assert!(words(&read("ARCHITECTURE.md")).contains(said));
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let files = files("rs").into_iter();
    let long = files
        .map(|(path, text)| (path, text.lines().filter(is_code).count()))
        .filter(|(_, length)| *length > 400);
    let long = long.map(|(path, length)| format!("{}: {length} lines", path.display()));
    assert_none(&long.collect::<Vec<_>>());
}

#[test]
fn decisions_have_no_ratio_that_the_results_lack() {
    let text = read("docs/decisions.md");
    let numbers = text.split(|it: char| !it.is_ascii_digit() && it != '.');
    let is_ratio = |it: &&str| it.split_once('.').is_some_and(|(_, part)| part.len() == 2);
    let ratios = numbers.filter(is_ratio).map(str::to_owned);
    // A ratio is in the results, with its method and its date. Here is a link.
    assert_none(&ratios.collect::<Vec<_>>());
}
