//! The documents: their lengths, that their links lead somewhere, that the guide is whole, and that their
//! figures are those that the benchmarks measured. CONTRIBUTING.md has the rules.

mod attributes;
mod elections;
mod figures;
mod first_programs;
mod guide;
mod links;
mod log_events;
mod markdown;
mod results;
mod sizes;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use links::Tree;
use results::Results;

/// The folder of the guide's pages.
const GUIDE: &str = "redlock-runtime/guide";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are in a folder of the workspace")
}

/// All Markdown files of the repository, by their paths from its root.
fn pages() -> BTreeMap<PathBuf, String> {
    let mut pages = BTreeMap::new();
    collect(root(), &mut pages);
    assert!(pages.contains_key(Path::new("README.md")));
    pages
}

fn collect(folder: &Path, pages: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace") {
        let path = entry.expect("an entry of a folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Built, or not the project's.
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            collect(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(&path).expect("a document");
            let path = path.strip_prefix(root()).expect("it is below the root");
            pages.insert(path.to_owned(), text);
        }
    }
}

fn manifest() -> String {
    fs::read_to_string(root().join("Cargo.toml")).expect("the workspace's manifest")
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn no_link_is_dead() {
    let mut pages = pages();
    for begin in links::addresses(&manifest()).into_iter().flatten() {
        let readme = pages.get_mut(Path::new("README.md")).expect("README");
        *readme = readme.replace(&begin, "");
    }
    let has = |path: &Path| root().join(path).exists();
    let tree = Tree {
        pages: &pages,
        has: &has,
    };
    assert_none(&tree.dead_links());
}

/// A page that holds it has a table of script calls, as they are on the wire, or of the library's keys.
#[test]
fn one_page_holds_the_wire_format() {
    let cells = [
        "| `EVAL",
        "| `SCRIPT",
        "| `redlock:fence:",
        "| `<prefix>redlock:",
    ];
    let holds = |text: &str| cells.iter().any(|cell| text.contains(cell));
    let pages = pages().into_iter();
    let holding: Vec<_> = pages
        .filter_map(|(path, text)| holds(&text).then_some(path))
        .collect();
    let one = Path::new(GUIDE).join("reference/wire_format.md");
    assert_eq!(holding, [one]);
}

#[test]
fn a_registry_finds_all_that_readme_shows() {
    let readme = &pages()[Path::new("README.md")];
    assert_none(&links::unknown_to_a_registry(readme, &manifest()));
}

#[test]
fn no_document_is_too_long() {
    let pages = pages();
    let long = pages
        .iter()
        .filter_map(|(path, text)| sizes::excess(path, text));
    assert_none(&long.collect::<Vec<_>>());
}

#[test]
fn the_changelog_of_what_is_not_released_has_additions_only() {
    let changelog = &pages()[Path::new("CHANGELOG.md")];
    assert_none(&sizes::changes_of_the_unreleased(changelog));
}

#[test]
fn the_guide_has_every_event_that_is_logged() {
    let mut emitted = BTreeSet::new();
    for sources in ["redlock-core/src", "redlock-runtime/src"] {
        log_events::emitted(&root().join(sources), &mut emitted);
    }
    // The texts of one call, which come from its callers.
    for text in ["locked", "joined the lease of a caller"] {
        emitted.insert((Some("debug".to_owned()), text.to_owned()));
    }
    let page = &pages()[Path::new("redlock-runtime/guide/reference/metrics.md")];
    let documented = log_events::documented(page);
    assert_none(&log_events::differences(&emitted, &documented));
}

#[test]
fn every_figure_is_one_that_was_measured() {
    let results = Results::read(&root().join("benches/results"));
    let mut wrong = Vec::new();
    for (path, text) in &pages() {
        let place = path.display().to_string();
        // This page has the results themselves, and what was measured apart.
        if path != Path::new("benches/RESULTS.md") {
            wrong.extend(figures::without_source(&place, text));
        }
        wrong.extend(figures::wrong(&place, text, &results));
    }
    assert_none(&wrong);
}
