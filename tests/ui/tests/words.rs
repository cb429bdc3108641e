//! The words of rustc, the same on every machine.

use crate::project::root;

/// The folder of the cases, from the workspace's.
const PACKAGE: &str = "tests/ui/";

/// Returns the text of a diagnostic with short names of files, and without the numbers of lines in code of others, which
/// change.
pub(crate) fn words(text: &str) -> String {
    let root = format!("{}/", root().display());
    let mut is_foreign = false;
    let lines = text.trim_end().lines().map(|line| {
        let line = line.replace(&root, "").replace(PACKAGE, "");
        let code = line.trim_start();
        if let Some(place) = code.strip_prefix("--> ") {
            let name = foreign_name(place);
            is_foreign = name.is_some();
            return name.map_or(line.clone(), |name| line.replace(place, &name));
        }
        is_foreign &= code.starts_with(|it: char| it.is_ascii_digit() || "|.".contains(it));
        if is_foreign {
            without_number(&line)
        } else {
            line
        }
    });
    let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    indented_by_own_numbers(&lines)
}

/// Returns what to call a file of others, of which rustc shows this `place`.
fn foreign_name(place: &str) -> Option<String> {
    let path = place.split(':').next()?;
    if let Some((_, file)) = path.split_once("/registry/src/") {
        let mut folders = file.splitn(3, '/').skip(1);
        let (name, _version) = folders.next()?.rsplit_once('-')?;
        Some(format!("$CARGO/{name}-$VERSION/{}", folders.next()?))
    } else if let Some((_, file)) = path.split_once("/library/") {
        Some(format!("$RUST/{file}"))
    } else {
        let is_own = path.starts_with("fail/") || path.starts_with("tests/fixtures/");
        (!is_own).then(|| path.to_owned())
    }
}

fn without_number(line: &str) -> String {
    let code = line.trim_start_matches(|it: char| it == ' ' || it.is_ascii_digit());
    " ".repeat(line.len() - code.len()) + code
}

/// Returns the lines moved to the left, because a large number in code of others has moved them to the right.
fn indented_by_own_numbers(lines: &[String]) -> String {
    let is_code = |line: &&String| line.starts_with(|it: char| it == ' ' || it.is_ascii_digit());
    let blanks = |line: &String| line.len() - line.trim_start().len();
    let moved = lines.iter().filter(is_code).map(blanks).min();
    let blanks = " ".repeat(moved.unwrap_or(0));
    let mut moved = String::new();
    for line in lines {
        moved += line.strip_prefix(&blanks).unwrap_or(line);
        moved.push('\n');
    }
    moved
}
