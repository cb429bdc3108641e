//! The documents: their lengths, that their links lead somewhere, that the guide is whole, and that their
//! figures are those that the benchmarks measured. CONTRIBUTING.md has the rules.

mod attributes;
mod defaults;
mod facts;
mod figures;
mod first_programs;
mod guide;
mod links;
mod log_events;
mod markdown;
mod sentences;
mod sizes;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use links::Tree;

/// The guide's page of spans and events.
const EVENTS_PAGE: &str = "redlock-runtime/guide/reference/events.md";

/// The folder of the guide's pages.
const GUIDE: &str = "redlock-runtime/guide";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are in a folder of the workspace")
}

/// Returns the text of the file at `path`, from the root.
fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(root().join(path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns all Markdown files of the repository, by their paths from its root.
fn pages() -> BTreeMap<PathBuf, String> {
    let pages = files("md");
    assert!(pages.contains_key(Path::new("README.md")));
    pages
}

/// Returns all files of the repository with this extension, by their paths from its root.
fn files(extension: &str) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    collect(root(), extension, &mut found);
    found
}

fn collect(folder: &Path, extension: &str, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace") {
        let path = entry.expect("an entry of a folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Built, or not the project's.
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            collect(&path, extension, found);
        } else if path.extension().is_some_and(|it| it == extension) {
            let text = fs::read_to_string(&path).expect("a text");
            let path = path.strip_prefix(root()).expect("it is below the root");
            found.insert(path.to_owned(), text);
        }
    }
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn no_link_is_dead() {
    let pages = pages();
    let has = |path: &Path| root().join(path).exists();
    let tree = Tree {
        pages: &pages,
        has: &has,
    };
    assert_none(&tree.dead_links());
}

#[test]
fn no_document_is_too_long() {
    let pages = pages();
    let long = pages
        .iter()
        .filter_map(|(path, text)| sizes::excess(path, text));
    assert_none(&long.collect::<Vec<_>>());
    let guide = pages.iter().filter(|(path, _)| path.starts_with(GUIDE));
    let length: usize = guide.map(|(_, text)| markdown::words(text)).sum();
    assert!(length <= sizes::GUIDE_WORDS, "the guide has {length} words");
}

/// Returns the sources of the library, without their unit tests.
fn library() -> BTreeMap<PathBuf, String> {
    let mut files = files("rs");
    files.retain(|path, _| {
        let is_test = (path.iter()).any(|part| part == "tests" || part == "tests.rs");
        let sources = ["redlock-core/src", "redlock-runtime/src"];
        sources.iter().any(|it| path.starts_with(it)) && !is_test
    });
    files
}

#[test]
fn every_span_and_event_has_a_target_of_the_guide() {
    let untargeted = library().into_iter().flat_map(|(path, text)| {
        let places = log_events::without_target(&text);
        let places = places.into_iter();
        places.map(move |place| format!("{}: {place} has no target", path.display()))
    });
    assert_none(&untargeted.collect::<Vec<_>>());
    let defined = log_events::targets(&read("redlock-core/src/targets.rs"));
    assert!(defined.len() > 4, "{defined:?}");
    let documented = log_events::documented_targets(&read(EVENTS_PAGE));
    assert_eq!(documented, defined, "the guide's table and `targets.rs`");
}

#[test]
fn the_guide_has_every_event_that_is_logged() {
    let mut emitted = BTreeSet::new();
    for text in library().values() {
        log_events::emitted(text, &mut emitted);
    }
    // The texts of one call, which come from its callers.
    for text in ["locked", "joined the lease of a caller"] {
        emitted.insert((Some("debug".to_owned()), text.to_owned()));
    }
    let documented = log_events::documented(&read(EVENTS_PAGE));
    assert!(emitted.len() > 40 && documented.len() > 40);
    assert_none(&log_events::differences(&emitted, &documented));
}
