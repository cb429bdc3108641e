//! Puts all mutants into one program, each behind a switch: fifty builds would take minutes.
//!
//! A mutant changes the bodies of functions. Each such body becomes
//! `if mutant::is(1) { the changed body } else { the body }`. The environment variable `MUTANT` says
//! at run time which mutant is on. The sources are formatted by rustfmt, so a function ends at the
//! first `}` that is indented as its `fn` is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use crate::table::{Mutant, Patch};

/// What the copy of `redlock-core` gets besides.
pub(crate) const SWITCH: &str = "
/// Which mutant is on.
pub mod mutant {
    pub fn is(number: usize) -> bool {
        static ON: std::sync::LazyLock<Option<usize>> =
            std::sync::LazyLock::new(|| std::env::var(\"MUTANT\").ok()?.parse().ok());
        *ON == Some(number)
    }
}
";

/// The bodies that mutants change, and what is added between functions.
#[derive(Default)]
pub(crate) struct Weave {
    /// By file and by the body's place in it: the changed bodies by the mutant's number.
    bodies: BTreeMap<(&'static str, usize, usize), BTreeMap<usize, Vec<Change>>>,
    /// Items that a mutant adds, which nothing else uses.
    items: Vec<(&'static str, Change)>,
}

/// What is written in the place of a piece of a file.
#[derive(Clone)]
struct Change {
    place: Range<usize>,
    text: &'static str,
}

impl Weave {
    /// Adds the mutant with that number. Returns an error if a patch does not fit, or is not within
    /// a function.
    pub(crate) fn add<'a>(
        &mut self,
        number: usize,
        mutant: &Mutant,
        source: impl Fn(&str) -> &'a str,
    ) -> Result<(), String> {
        for patch in mutant.patches {
            let source = source(patch.file);
            let change = Change::of(patch, source)?;
            if let Some(body) = body_around(source, &change.place) {
                let bodies = self.bodies.entry((patch.file, body.start, body.end));
                let changes = bodies.or_default().entry(number).or_default();
                changes.push(change);
            } else if change.place.is_empty() {
                self.items.push((patch.file, change));
            } else {
                return Err(format!("it changes more than a function in {}", patch.file));
            }
        }
        Ok(())
    }

    /// `source`, which is the text of `file`, with all mutants in it.
    pub(crate) fn woven(&self, file: &str, source: &str) -> String {
        let switch = if file.starts_with("redlock-core/") {
            "crate::mutant::is"
        } else {
            "redlock_core::mutant::is"
        };
        let mut changes: Vec<(Range<usize>, String)> = Vec::new();
        for ((_, start, end), mutants) in self.bodies.iter().filter(|((name, ..), _)| *name == file)
        {
            let body = *start..*end;
            let mut text = String::new();
            for (number, changes) in mutants {
                let edits = changes
                    .iter()
                    .map(|change| (change.place.clone(), change.text.to_owned()));
                let mutated = replaced(source, &body, edits.collect());
                let _ = write!(text, "\nif {switch}({number}) {{{mutated}}} else ");
            }
            let _ = writeln!(text, "{{{}}}", &source[body.clone()]);
            changes.push((body, text));
        }
        let items = self.items.iter().filter(|(name, _)| *name == file);
        changes.extend(items.map(|(_, change)| (change.place.clone(), change.text.to_owned())));
        if changes.is_empty() {
            return source.to_owned();
        }
        // What a `const fn` calls is one too, and a switch is none.
        replaced(source, &(0..source.len()), changes).replace("const fn ", "fn ")
    }
}

impl Change {
    /// What `patch` changes of `source`: whole lines, without those that stay as they are.
    fn of(patch: &Patch, source: &str) -> Result<Self, String> {
        let mut found = source.match_indices(patch.find);
        let (Some((start, _)), None) = (found.next(), found.next()) else {
            return Err(format!(
                "the text to change is {} times in {}: {}",
                source.matches(patch.find).count(),
                patch.file,
                patch.find
            ));
        };
        let (mut find, mut text, mut start) = (patch.find, patch.replace, start);
        while let (Some(line), Some(same)) = (
            find.split_inclusive('\n').next(),
            text.split_inclusive('\n').next(),
        ) && line == same
            && line.ends_with('\n')
        {
            (find, text) = (&find[line.len()..], &text[line.len()..]);
            start += line.len();
        }
        if find.is_empty() || text.ends_with(&format!("\n{find}")) {
            text = &text[..text.len() - find.len()];
            find = "";
        }
        let place = start..start + find.len();
        Ok(Self { place, text })
    }
}

/// The piece `within` of `source`, with `changes` made, which do not overlap.
fn replaced(
    source: &str,
    within: &Range<usize>,
    mut changes: Vec<(Range<usize>, String)>,
) -> String {
    changes.sort_by_key(|(place, _)| place.start);
    let (mut text, mut from) = (String::new(), within.start);
    for (place, change) in changes {
        text += &source[from..place.start];
        text += &change;
        from = place.end;
    }
    text + &source[from..within.end]
}

/// What is between the braces of the innermost function that has all of `place` in its body.
fn body_around(source: &str, place: &Range<usize>) -> Option<Range<usize>> {
    let starts = || {
        let mut at = 0;
        source.split_inclusive('\n').map(move |line| {
            let start = at;
            at += line.len();
            (start, line.trim_end_matches('\n'))
        })
    };
    let lines: Vec<(usize, &str)> = starts().collect();
    let first = lines.partition_point(|(start, _)| *start <= place.start);
    (0..first).rev().find_map(|number| {
        let indent = indent_of_function(lines[number].1)?;
        let opens = |(_, line): &&(usize, &str)| {
            line.ends_with('{') && line.len() - line.trim_start().len() == indent
        };
        let rest = &lines[number..];
        let (opened, line) = rest.iter().find(opens)?;
        let start = opened + line.len();
        let end = format!("{}}}", " ".repeat(indent));
        let (closed, _) = rest.iter().find(|(_, line)| *line == end)?;
        let body = start..closed + indent;
        (body.start <= place.start && place.end <= body.end).then_some(body)
    })
}

/// How far `line` is indented, if a function begins there.
fn indent_of_function(line: &str) -> Option<usize> {
    let text = line.trim_start();
    let mut words = text.split(' ').skip_while(|word| {
        matches!(
            *word,
            "pub" | "pub(crate)" | "pub(super)" | "pub(in" | "crate::redis)" | "const" | "async"
        )
    });
    (words.next() == Some("fn")).then_some(line.len() - text.len())
}
