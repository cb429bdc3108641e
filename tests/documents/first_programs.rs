//! The programs that a stranger starts with: README.md and the guide show the files of two folders, which the
//! test `compile` builds.

use redlock_runtime::Config;

use crate::{GUIDE, assert_none, files, read};

/// Returns the blocks of code in one of these languages.
fn blocks(text: &str, languages: &[&str]) -> Vec<String> {
    let fenced = text.split("\n```").skip(1).step_by(2);
    let fenced = fenced.filter_map(|block| block.split_once('\n'));
    let wanted = fenced.filter(|(language, _)| languages.contains(language));
    wanted.map(|(_, code)| format!("{code}\n")).collect()
}

/// Returns the dependencies of a manifest, with their heading.
fn dependencies(folder: &str) -> String {
    let manifest = read(format!("{folder}/Cargo.toml"));
    let begin = manifest.find("[dependencies]").expect("dependencies");
    manifest[begin..].to_owned()
}

#[test]
fn the_readme_shows_the_whole_program_that_a_test_builds() {
    let readme = read("README.md");
    let program = blocks(&readme, &["rust", "rs"]).join("\n");
    assert_eq!(program, read("examples/first_axum/src/main.rs"));
    let configuration = read("examples/first_axum/redlock.toml");
    let tables = [dependencies("examples/first_axum"), configuration.clone()];
    assert_eq!(blocks(&readme, &["toml"]), tables);
    Config::from_toml(&configuration).expect("a configuration");
    assert_eq!(read("examples/first_actix/redlock.toml"), configuration);
    Config::from_toml(&read("examples/redlock.toml")).expect("a configuration");
}

/// An example stays short enough to be copied.
#[test]
fn every_example_is_short_and_in_the_list() {
    let list = read("examples/README.md");
    let examples = files("rs")
        .into_iter()
        .filter(|(path, _)| path.parent() == Some("examples".as_ref()));
    let wrong = examples.filter_map(|(path, text)| {
        let name = path.file_name()?.to_str()?;
        let code = text.lines().map(str::trim_start);
        let lines = code
            .filter(|line| !line.is_empty() && !line.starts_with("//"))
            .count();
        let is_listed = list.contains(&format!("({name})"));
        (lines > 130 || !is_listed)
            .then(|| format!("{name}: {lines} lines, in the list: {is_listed}"))
    });
    assert_none(&wrong.collect::<Vec<_>>());
}

#[test]
fn the_guide_begins_with_the_programs_that_a_test_builds() {
    let page = read(format!("{GUIDE}/start/first_lock.md"));
    let folders = ["examples/first_axum", "examples/first_actix"];
    let programs = folders.map(|folder| read(format!("{folder}/src/main.rs")));
    assert_eq!(blocks(&page, &["rust,no_run"]), programs);
    assert_eq!(blocks(&page, &["toml"])[0], dependencies(folders[0]));
    // The programs await `shutdown_signal()`, which switches it off.
    assert!(!page.contains("release_on_exit = true"));
    for line in dependencies(folders[1])
        .lines()
        .filter(|it| it.contains("actix-web"))
    {
        assert!(page.contains(line), "{line}");
    }
}
