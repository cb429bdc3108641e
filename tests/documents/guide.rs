//! The guide: the book, the module and the list of pages have the same pages; a page links to pages by
//! names that it defines; and the tests that it names exist.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, LinkType, Tag};

use crate::markdown::events;
use crate::{GUIDE, files, read};

/// Returns the text of a page, or of another file beside it.
fn page(name: &str) -> String {
    read(format!("{GUIDE}/{name}"))
}

/// Returns the names in `pages.rs`, `tasks/waiting`, in their order there.
fn pages() -> Vec<String> {
    let list = page("pages.rs");
    let (_, list) = list.split_once("\npages! {").expect("the list of pages");
    let lines = list.lines().filter(|line| !line.trim().starts_with("///"));
    let mut pages = Vec::new();
    let mut part = None;
    let words: Vec<_> = lines.flat_map(str::split_whitespace).collect();
    for (at, &word) in words.iter().enumerate() {
        match (word, part) {
            ("{", _) => part = Some(words[at - 1]),
            ("}", _) => part = None,
            (page, Some(part)) => pages.push(format!("{part}/{page}")),
            (_, None) => {}
        }
    }
    assert!(pages.len() > 30, "{pages:?}");
    pages
}

#[test]
fn the_book_the_module_and_the_folder_have_the_same_pages() {
    let pages = pages();
    let summary = page("SUMMARY.md");
    let mut listed = vec!["index.md".to_owned()];
    listed.extend(pages.iter().map(|page| format!("{page}.md")));
    assert_eq!(links(&summary).0, listed, "SUMMARY.md and pages.rs");

    let index = page("index.md");
    assert_eq!(links(&index).1, pages, "index.md and pages.rs");

    let found: BTreeSet<_> = files("md")
        .keys()
        .filter_map(|path| path.strip_prefix(GUIDE).ok())
        .map(|path| path.to_string_lossy().into_owned())
        .filter(|path| path != "SUMMARY.md")
        .collect();
    let listed: BTreeSet<_> = listed.into_iter().collect();
    assert_eq!(found, listed, "the folder and pages.rs");
}

#[test]
fn a_page_links_to_pages_by_names_that_it_defines() {
    let pages = pages();
    for page in pages.iter().map(String::as_str).chain(["index"]) {
        let text = read(format!("{GUIDE}/{page}.md"));
        // In rustdoc a path leads nowhere.
        let (destinations, names) = links(&text);
        for link in destinations {
            assert!(link.starts_with("https://"), "{page}: a path, {link}");
        }
        let used: BTreeSet<_> = names.iter().map(String::as_str).collect();
        let defined = definitions(&text);
        let names: BTreeSet<_> = defined.iter().map(|(name, _)| *name).collect();
        assert_eq!(used, names, "{page}: names and their definitions");
        let up = if page.contains('/') { "../" } else { "" };
        for (name, path) in defined {
            assert!(
                pages.iter().any(|it| it == name),
                "{page}: there is no page {name}"
            );
            let (part, file) = name.split_once('/').expect("a part and a page");
            let same_part = page.split_once('/').is_some_and(|(of, _)| of == part);
            let expected = if same_part {
                format!("{file}.md")
            } else {
                format!("{up}{name}.md")
            };
            assert_eq!(path, expected, "{page}: the definition of {name}");
        }
    }
}

#[test]
fn the_tests_that_pages_name_are_there() {
    let sources = files("rs");
    let mut count = 0;
    for page in pages() {
        let text = read(format!("{GUIDE}/{page}.md"));
        let Some((_, section)) = text.split_once("## The tests that show it") else {
            continue;
        };
        let quoted = events(section).filter_map(|(event, _)| match event {
            Event::Code(name) => Some(name),
            _ => None,
        });
        for name in quoted.filter(|it| it.matches('_').count() > 2 && !it.contains('/')) {
            let defined = ["(", "<", "\n"].map(|end| format!("fn {name}{end}"));
            let is_there = |text: &String| defined.iter().any(|it| text.contains(it));
            assert!(sources.values().any(is_there), "{page}: no test {name}");
            count += 1;
        }
    }
    assert!(count > 30, "{count} tests are named");
}

/// Returns the destinations of the links that have them in place, and the names that the others lead by.
fn links(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut destinations, mut names) = (Vec::new(), Vec::new());
    for (event, _) in events(text) {
        match event {
            Event::Start(Tag::Link {
                link_type: LinkType::Inline,
                dest_url,
                ..
            }) => {
                destinations.push(dest_url.into_string());
            }
            Event::Start(Tag::Link {
                link_type: LinkType::Reference,
                id,
                ..
            }) => {
                names.push(id.into_string());
            }
            _ => {}
        }
    }
    (destinations, names)
}

/// Returns the lines `[name]: path`.
fn definitions(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix('['));
    lines.filter_map(|line| line.split_once("]: ")).collect()
}
