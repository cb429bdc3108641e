//! The parts of a Markdown text that the checks read.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

/// A link or a picture, and the line that it is in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) line: usize,
    pub(crate) destination: String,
}

/// Returns the events of `text` with their places in it.
pub(crate) fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(text, options()).into_offset_iter()
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH
}

/// Line of the byte at `offset`, from 1 on.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// Number of words, as `wc -w` counts them.
pub(crate) fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Returns the level and the text of each heading.
pub(crate) fn headings(text: &str) -> Vec<(u8, String)> {
    let mut found = Vec::new();
    let mut open = None;
    for (event, _) in events(text) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => open = Some((level as u8, String::new())),
            Event::End(TagEnd::Heading(_)) => found.extend(open.take()),
            Event::Text(part) | Event::Code(part) => {
                if let Some((_, heading)) = &mut open {
                    heading.push_str(&part);
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the anchors that a link may name: one for each heading, as GitHub, mdBook and rustdoc make it, and
/// the `id` of each HTML element.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::new();
    let mut found: BTreeSet<String> = headings(text)
        .iter()
        .map(|(_, heading)| {
            let slug = slug(heading);
            let count = seen.entry(slug.clone()).or_insert(0_usize);
            *count += 1;
            match *count {
                1 => slug,
                again => format!("{slug}-{}", again - 1),
            }
        })
        .collect();
    for (event, _) in events(text) {
        if let Event::Html(html) | Event::InlineHtml(html) = event {
            found.extend(attributes(&html, "id").map(str::to_owned));
        }
    }
    found
}

fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ => c.is_alphanumeric().then_some(c),
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// Returns all links and pictures, those in HTML included. A link whose label nothing defines has the label in
/// the place of its destination.
pub(crate) fn links(text: &str) -> Vec<Link> {
    let undefined = |link: BrokenLink<'_>| {
        // `[text]` alone may be text.
        let is_meant = matches!(link.link_type, LinkType::Reference | LinkType::Collapsed);
        let label = CowStr::from(format!("[{}]", link.reference));
        is_meant.then_some((label, CowStr::from("")))
    };
    let parser = Parser::new_with_broken_link_callback(text, options(), Some(undefined));
    let mut found = Vec::new();
    for (event, range) in parser.into_offset_iter() {
        let mut add = |destination: &str| {
            found.push(Link {
                line: line_of(text, range.start),
                destination: destination.to_owned(),
            });
        };
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                add(&dest_url);
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                attributes(&html, "href").for_each(&mut add);
                attributes(&html, "src").for_each(&mut add);
            }
            _ => {}
        }
    }
    found
}

/// Returns the values of all attributes `name` in a piece of HTML.
fn attributes<'a>(html: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!(" {name}=\"");
    let values = html.match_indices(&begin);
    let starts: Vec<usize> = values.map(|(at, _)| at + begin.len()).collect();
    starts
        .into_iter()
        .filter_map(|start| html[start..].split('"').next())
}
