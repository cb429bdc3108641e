//! What the documents for maintainers say of the source: each name in backticks that looks like a Rust item
//! or a file is there, each link leads to a file, and ARCHITECTURE.md is short and has a row for each folder.
//!
//! The same names are looked for in the module docs that stand in files of their own.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::{CRATES, workspace};

/// Most bytes of ARCHITECTURE.md: it is read within an hour.
const MOST_BYTES: usize = 15_000;

const DOCUMENTS: [&str; 3] = ["ARCHITECTURE.md", "docs/decisions.md", "docs/glossary.md"];

/// Where module docs are in files of their own.
const OF_MODULES: [&str; 3] = ["redlock-core/src", "redlock-runtime/src", "tests"];

/// Endings by which a name in backticks is the name of a file.
const ENDINGS: [&str; 5] = [".rs", ".md", ".toml", ".css", ".yaml"];

/// What names can mean.
#[derive(Default)]
struct Known {
    /// The path of each source file; its words without its comments, and those of the path.
    files: Vec<(PathBuf, HashSet<String>)>,
    /// All packages that the workspace is built of, spelled as in `use`.
    packages: HashSet<String>,
    /// All files and folders, from the workspace's root.
    paths: Vec<PathBuf>,
}

impl Known {
    fn of_workspace() -> Self {
        let mut known = Self::default();
        known.add_folder(Path::new(""));
        let lock = fs::read_to_string(workspace().join("Cargo.lock")).expect("a lock file");
        let names = lock.lines().filter_map(|line| line.strip_prefix("name = "));
        known.packages = names
            .map(|name| name.trim_matches('"').replace('-', "_"))
            .collect();
        known
    }

    fn add_folder(&mut self, folder: &Path) {
        for entry in fs::read_dir(workspace().join(folder)).expect("a folder") {
            let entry = entry.expect("an entry of a folder");
            let name = entry.file_name();
            let path = folder.join(&name);
            let is_built = ["target", ".git"].iter().any(|other| name == *other);
            if is_built {
                continue;
            }
            if entry.path().is_dir() {
                self.add_folder(&path);
            } else if path.extension().is_some_and(|ending| ending == "rs")
                // This file names what is not there.
                && path != Path::new(file!())
            {
                let source = fs::read_to_string(entry.path()).expect("a source file");
                self.add_source(&path, &source);
            }
            self.paths.push(path);
        }
    }

    /// Comments say what they like.
    fn add_source(&mut self, path: &Path, source: &str) {
        let lines = source.lines().map(str::trim_start);
        let code = lines.filter(|line| !line.starts_with("//"));
        let words = code.flat_map(|line| line.split(|part: char| !is_of_name(part)));
        // A module is named by its folder or file.
        let modules = path
            .iter()
            .filter_map(|part| part.to_str()?.split('.').next());
        let words = words.chain(modules).map(str::to_owned).collect();
        self.files.push((path.to_owned(), words));
    }

    /// True if `path` is the end of the path of a file or folder.
    fn has_path(&self, path: &str) -> bool {
        self.paths.iter().any(|known| known.ends_with(path))
    }

    /// True if a file in one of `folders`, or anywhere if there are none, has all of `names`; or the only one is a
    /// package.
    fn has_names(&self, names: &[&str], folders: &[String]) -> bool {
        let is_package = || names.len() == 1 && self.packages.contains(names[0]);
        let has_all = |words: &HashSet<String>| names.iter().all(|name| words.contains(*name));
        let is_in = |path: &Path| {
            folders.is_empty() || folders.iter().any(|folder| path.starts_with(folder))
        };
        let mut files = self.files.iter();
        files.any(|(path, words)| is_in(path) && has_all(words)) || is_package()
    }
}

fn is_of_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

/// What a text in backticks looks like.
#[derive(Debug, PartialEq)]
enum Look<'a> {
    Path(&'a str),
    /// An item, and what it is in.
    Item(Vec<&'a str>),
    Other,
}

impl<'a> Look<'a> {
    fn of(code: &'a str) -> Self {
        let is_of_path = |char| is_of_name(char) || matches!(char, '.' | '/' | '-');
        let is_file = ENDINGS.iter().any(|ending| code.ends_with(ending));
        if code.chars().all(is_of_path) && !code.starts_with('/') && (is_file || code.contains('/'))
        {
            return Self::Path(code.trim_end_matches('/'));
        }
        // `name = value`, `name(…)`, `name!(…)`, `#[name]`
        let name = code.split(" = ").next().unwrap_or_default();
        let name = name.trim_start_matches("#[").trim_end_matches(']');
        let name = name.split(['(', '!']).next().unwrap_or_default();
        let names: Vec<&str> = name.split("::").collect();
        let is_name = |name: &&str| {
            let begins = name.starts_with(|first: char| first.is_ascii_alphabetic());
            (begins || name.starts_with("__")) && name.chars().all(is_of_name)
        };
        // Commands of Redis are words in capitals.
        let is_command = |name: &&str| name.chars().all(|char| char.is_ascii_uppercase());
        let is_item = names.iter().all(is_name) && !names.iter().all(is_command) && name != "__";
        if is_item {
            Self::Item(names)
        } else {
            Self::Other
        }
    }
}

/// Returns the texts in backticks of a line, but for those in links to other places of the web.
fn codes(line: &str) -> Vec<&str> {
    let parts: Vec<&str> = line.split('`').collect();
    let inside = parts.iter().enumerate().skip(1).step_by(2);
    let is_abroad = |number: usize| {
        parts
            .get(number + 1)
            .is_some_and(|behind| behind.starts_with("](http"))
    };
    inside
        .filter(|(number, _)| !is_abroad(*number))
        .map(|(_, code)| *code)
        .collect()
}

/// Returns the folders of the crates in the last cell of a row of the glossary.
fn crates_of(line: &str) -> Vec<String> {
    let last = line
        .strip_suffix(" |")
        .and_then(|line| line.rsplit(" | ").next());
    let words = last.into_iter().flat_map(|cell| cell.split(", "));
    let crates = words.filter(|word| ["core", "runtime", "macros"].contains(word));
    crates.map(|word| format!("redlock-{word}")).collect()
}

/// Returns what `document`, the text of the file `path`, names and is not there.
fn wrong_names(known: &Known, path: &str, document: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut is_block = false;
    for (number, line) in document.lines().enumerate() {
        let place = format!("{path}:{}", number + 1);
        if line.starts_with("```") {
            is_block = !is_block;
        }
        if is_block {
            continue;
        }
        let folders = crates_of(line);
        for code in codes(line) {
            let is_there = match Look::of(code) {
                Look::Path(path) => known.has_path(path),
                Look::Item(names) => known.has_names(&names, &folders),
                Look::Other => true,
            };
            if !is_there {
                wrong.push(format!("{place}: there is no `{code}`"));
            }
        }
    }
    wrong
}

#[test]
fn names_in_the_documents_are_in_the_source() {
    let known = Known::of_workspace();
    let of_modules = known.paths.iter().filter(|path| {
        let is_of_folder = |folder| path.starts_with(folder);
        OF_MODULES.iter().any(is_of_folder) && path.extension().is_some_and(|it| it == "md")
    });
    let documents = of_modules.filter_map(|path| path.to_str());
    let documents: Vec<&str> = documents.chain(DOCUMENTS).collect();
    assert!(documents.len() > DOCUMENTS.len(), "module docs are found");
    let mut wrong = Vec::new();
    for path in documents {
        let document = fs::read_to_string(workspace().join(path)).expect("a document");
        wrong.extend(wrong_names(&known, path, &document));
    }
    assert!(wrong.is_empty(), "{}\n", wrong.join("\n"));
}

#[test]
fn a_name_that_is_not_there_is_found_with_its_line() {
    let mut known = Known::default();
    known.add_source(
        Path::new("redlock-core/src/lib.rs"),
        "/// Once called `Former`.\nstruct Node; impl Node { fn submit() {} } const A: &str = \"B_C\";",
    );
    known.paths.push(PathBuf::from("core/src/client/mod.rs"));
    known.paths.push(PathBuf::from("core/src/client"));
    let document = "`Node`, `Node::submit`, `client/mod.rs`, `client/`, `mod.rs`, `B_C`, `SET key`\n\
                    `Former`, `Node::send`\n`lient/mod.rs`, `other.rs`\n```text\n`Gone`\n```\n\
                    [`away`](https://docs.rs), `#[old]`, `old = 1`, `PTTL`\n\
                    | node | a vote (`Node`) | core |\n| vote | a node's (`Node`) | macros, runtime |";
    assert_eq!(
        wrong_names(&known, "README.md", document),
        [
            "README.md:2: there is no `Former`",
            "README.md:2: there is no `Node::send`",
            "README.md:3: there is no `lient/mod.rs`",
            "README.md:3: there is no `other.rs`",
            "README.md:7: there is no `#[old]`",
            "README.md:7: there is no `old = 1`",
            "README.md:9: there is no `Node`",
        ]
    );
}

/// Adds the folders below `folder` that have sources other than unit tests, as rows name them.
fn add_folders(folder: &Path, name: &str, folders: &mut BTreeSet<String>) {
    folders.insert(name.to_owned());
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let entry = entry.expect("an entry of a folder");
        let own = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && own != "tests" {
            let above = if name == "src/" { "" } else { name };
            add_folders(&entry.path(), &format!("{above}{own}/"), folders);
        }
    }
}

/// Returns the folders that have a row in the part of `document` that is about the crate `name`.
fn rows(document: &str, name: &str) -> BTreeSet<String> {
    let heading = format!("\n## `{name}`");
    let part = document.split(&heading).nth(1).unwrap_or_default();
    let part = part.split("\n## ").next().unwrap_or_default();
    let rows = part.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split('`').next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn architecture_is_short_and_has_a_row_for_each_folder() {
    let document = fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("a document");
    assert!(
        document.len() <= MOST_BYTES,
        "ARCHITECTURE.md has {} bytes, and {MOST_BYTES} are enough",
        document.len()
    );
    for name in CRATES {
        let mut folders = BTreeSet::new();
        add_folders(&workspace().join(name).join("src"), "src/", &mut folders);
        assert_eq!(rows(&document, name), folders, "rows and folders of {name}");
    }
}
