//! The sentences of the comments in a source, or of a Markdown page.

use std::path::Path;

use regex_lite::Regex;

/// A sentence, or a paragraph before it is split.
#[derive(Clone)]
pub(crate) struct Sentence {
    /// The line at which the paragraph begins.
    pub(crate) line: usize,
    pub(crate) text: String,
    /// True for the first sentence of a comment.
    pub(crate) is_first: bool,
    /// True for the first sentence of a function's doc comment.
    pub(crate) is_of_function: bool,
}

pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a regular expression")
}

/// Returns the sentences of at least four words. Code blocks, headings and tables are left out.
pub(crate) fn sentences(path: &Path, text: &str) -> Vec<Sentence> {
    let lines: Vec<&str> = text.lines().collect();
    let link = pattern(r"\[`?([^\]`]*)`?\](\([^)]*\)|\[[^\]]*\])?");
    let end = pattern(r#"([.!?]) ([A-Z`*"])"#);
    let mut found = Vec::new();
    for mut next in paragraphs(&lines, path.extension().is_some_and(|it| it == "md")) {
        let text = next.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = link.replace_all(&text, "$1");
        let text = end.replace_all(&text, "$1\n$2");
        for text in text.lines().filter(|it| it.split(' ').count() > 3) {
            text.clone_into(&mut next.text);
            found.push(next.clone());
            (next.is_first, next.is_of_function) = (false, false);
        }
    }
    found
}

fn paragraphs(lines: &[&str], is_page: bool) -> Vec<Sentence> {
    let comment = pattern(if is_page {
        "^()(.*)$"
    } else {
        r"^\s*(//[/!]?|--)( .*)?$"
    });
    let not_prose = pattern(r"^([#|<]|\[([^`]|$))");
    let function = pattern(r"^(pub(\([^)]*\))? )?((const|async|unsafe) )*fn ");
    let list_item = pattern(r"^([*-]|\d+\.) ");
    let mut found: Vec<Sentence> = Vec::new();
    let (mut mark, mut is_open, mut is_first, mut is_code) = ("", false, true, false);
    for (at, line) in lines.iter().enumerate() {
        let parts = comment.captures(line);
        let part = |index| Some(parts.as_ref()?.get(index)?.as_str());
        if part(1) != Some(mark) {
            (mark, is_open, is_first, is_code) = (part(1).unwrap_or_default(), false, true, false);
        }
        let text = part(2).unwrap_or_default().trim();
        let is_fence = text.starts_with("```");
        is_code ^= is_fence;
        if is_fence || is_code || not_prose.is_match(text) {
            is_open = false;
        } else if text.is_empty() {
            (is_open, is_first) = (false, is_first && mark.is_empty());
        } else {
            let is_item = list_item.is_match(text);
            is_first &= !is_item;
            let text = list_item.replace(text, "") + " ";
            match found.last_mut().filter(|_| is_open && !is_item) {
                Some(paragraph) => paragraph.text.push_str(&text),
                None => found.push(Sentence {
                    line: at + 1,
                    text: text.into_owned(),
                    is_first: is_first && !is_page,
                    is_of_function: is_first && is_function(&lines[at..], &function),
                }),
            }
            is_open = true;
        }
    }
    found
}

/// True if `lines` begin with the doc comment of a function.
fn is_function(lines: &[&str], function: &Regex) -> bool {
    let mut lines = lines.iter().map(|line| line.trim_start());
    let is_comment = lines.next().is_some_and(|line| line.starts_with("///"));
    let item = lines.find(|line| !line.starts_with("///") && !line.starts_with("#["));
    is_comment && item.is_some_and(|it| function.is_match(it))
}
