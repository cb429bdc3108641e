//! Which room of a crate may import which: the rooms stand in an order, from the caller down to the
//! ground, and a file imports from its own room and from rooms below it only. The order is the block
//! `rooms` in ARCHITECTURE.md, and nowhere else.

mod documents;
mod imports;

use std::fs;
use std::path::{Path, PathBuf};

use imports::{Import, imports};

/// The crates of the product.
const CRATES: [&str; 3] = ["redlock-core", "redlock-runtime", "redlock-macros"];

/// A folder whose files and folders are rooms, from the top down.
struct House {
    /// Path of the folder, from the workspace's root.
    folder: String,
    rooms: Vec<String>,
}

impl House {
    /// Place of `room` in the order; a smaller one is further up.
    fn place(&self, room: &str) -> Option<usize> {
        self.rooms.iter().position(|known| known == room)
    }

    /// Returns the modules above the rooms: `redis` for `redlock-core/src/redis`.
    fn prefix(&self) -> Vec<&str> {
        let below_src = self.folder.split("/src").nth(1).unwrap_or_default();
        below_src
            .split('/')
            .filter(|part| !part.is_empty())
            .collect()
    }

    /// Returns the room that the module `path` is in. `None` for the folder's own `mod.rs` or `lib.rs`, which
    /// stands above all rooms, and for modules elsewhere.
    fn room<'a>(&self, path: &'a [String]) -> Option<&'a str> {
        let prefix = self.prefix();
        let is_inside = path.len() > prefix.len() && path.iter().zip(&prefix).all(|(a, b)| a == b);
        is_inside.then(|| path[prefix.len()].as_str())
    }

    /// Returns what is wrong with the imports of the file at `path`.
    fn wrong(&self, path: &str, module: &[String], found: &[Import]) -> Vec<String> {
        let Some(room) = self.room(module) else {
            return Vec::new();
        };
        let Some(place) = self.place(room) else {
            return vec![format!("{path}: the room `{room}` is not in the order")];
        };
        let mut wrong = Vec::new();
        for Import { line, path: to } in found {
            let target = to.join("::");
            let Some(other) = self.room(to).filter(|other| *other != room) else {
                continue;
            };
            match self.place(other) {
                Some(below) if below > place => {}
                Some(_) => wrong.push(format!(
                    "{path}:{line}: `{room}` imports `crate::{target}`, and `{other}` is above it"
                )),
                None => wrong.push(format!(
                    "{path}:{line}: `{room}` imports `crate::{target}` through `{}`; name its room",
                    self.folder
                )),
            }
        }
        wrong
    }
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are in a folder of the workspace")
}

/// Returns the block `rooms` of ARCHITECTURE.md: a folder, a colon, and its rooms with `>` between them. A line
/// that begins with spaces continues the one before.
fn houses(document: &str) -> Vec<House> {
    let block = document.split("```text rooms\n").nth(1).unwrap_or_default();
    let block = block.split("```").next().unwrap_or_default();
    let mut lines: Vec<String> = Vec::new();
    for line in block.lines().filter(|line| !line.trim().is_empty()) {
        match lines.last_mut() {
            Some(last) if line.starts_with(' ') => last.push_str(line),
            _ => lines.push(line.to_owned()),
        }
    }
    let house = |line: &String| {
        let (folder, rooms) = line.split_once(':')?;
        let rooms = rooms.split('>').map(|room| room.trim().to_owned());
        Some(House {
            folder: folder.to_owned(),
            rooms: rooms.collect(),
        })
    };
    lines.iter().filter_map(house).collect()
}

/// All source files below `folder` but those of unit tests, with the paths of their modules.
fn files(folder: &Path, module: &[String], found: &mut Vec<(PathBuf, Vec<String>)>) {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry of a folder").path())
        .collect();
    paths.sort();
    for path in paths {
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if name == "tests" {
            continue;
        }
        let mut module = module.to_vec();
        if path.is_dir() {
            module.push(name);
            files(&path, &module, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            if !matches!(name.as_str(), "mod" | "lib") {
                module.push(name);
            }
            found.push((path, module));
        }
    }
}

#[test]
fn each_room_imports_from_rooms_below_it_only() {
    let document = fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("a document");
    let houses = houses(&document);
    let mut wrong = Vec::new();
    for name in CRATES {
        let folder = format!("{name}/src");
        assert!(
            houses.iter().any(|house| house.folder == folder),
            "ARCHITECTURE.md gives no order for the rooms of {folder}"
        );
        let mut found = Vec::new();
        files(&workspace().join(&folder), &[], &mut found);
        let of_crate = |house: &&House| house.folder.starts_with(&folder);
        for house in houses.iter().filter(of_crate) {
            for room in &house.rooms {
                let is_there = found
                    .iter()
                    .any(|(_, module)| house.room(module) == Some(room));
                assert!(is_there, "{}: there is no room `{room}`", house.folder);
            }
        }
        for (path, module) in &found {
            let source = fs::read_to_string(path).expect("a source file");
            let imports = imports(&source, module).unwrap_or_else(|error| {
                panic!("{}: {error}", path.display());
            });
            let path = path.strip_prefix(workspace()).unwrap_or(path);
            let path = path.display().to_string();
            for house in houses.iter().filter(of_crate) {
                wrong.extend(house.wrong(&path, module, &imports));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n", wrong.join("\n"));
}

#[test]
fn an_import_from_a_room_above_is_found_with_its_line() {
    let document = "```text rooms\na/src: top >\n    middle > ground\na/src/top: up > down\n```\n";
    let [house, inner] = &houses(document)[..] else {
        panic!("there are two lines");
    };
    assert_eq!(house.rooms, ["top", "middle", "ground"]);
    let module = ["middle".to_owned(), "file".to_owned()];
    let source = "use crate::ground::A;\nuse super::other::B;\nuse crate::{ground, top::{C, D}};\n\
                  fn f() { super::super::top::g(); }\n#[cfg(test)]\nmod tests { use crate::top::E; }\n\
                  use crate::F;";
    let found = imports(source, &module).expect("a source text");
    let wrong = house.wrong("a/src/middle/file.rs", &module, &found);
    let places: Vec<&str> = wrong
        .iter()
        .filter_map(|text| text.split("`, and").next())
        .collect();
    assert_eq!(
        places,
        [
            "a/src/middle/file.rs:3: `middle` imports `crate::top::C",
            "a/src/middle/file.rs:3: `middle` imports `crate::top::D",
            "a/src/middle/file.rs:4: `middle` imports `crate::top::g",
            "a/src/middle/file.rs:7: `middle` imports `crate::F` through `a/src`; name its room",
        ]
    );
    let module = ["top".to_owned(), "down".to_owned()];
    let found = imports("use super::up::A;", &module).expect("a source text");
    assert_eq!(inner.wrong("down.rs", &module, &found).len(), 1);
    assert!(house.wrong("down.rs", &module, &found).is_empty());
}
