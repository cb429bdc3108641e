//! Links that lead nowhere.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::markdown::{anchors, links};

/// All Markdown files of the repository by their paths from its root, and the rest of it.
pub(crate) struct Tree<'a> {
    pub(crate) pages: &'a BTreeMap<PathBuf, String>,
    /// Whether there is a file or a folder.
    pub(crate) has: &'a dyn Fn(&Path) -> bool,
}

impl Tree<'_> {
    /// Returns what is wrong with the links of all pages. An address on the network is not asked for.
    pub(crate) fn dead_links(&self) -> Vec<String> {
        let mut dead = Vec::new();
        for (page, text) in self.pages {
            for link in links(text) {
                if let Some(reason) = self.reason_against(page, &link.destination) {
                    let (page, line) = (page.display(), link.line);
                    dead.push(format!("{page}:{line}: `{}` {reason}", link.destination));
                }
            }
        }
        dead
    }

    fn reason_against(&self, page: &Path, destination: &str) -> Option<String> {
        if destination.starts_with('[') {
            return Some("is a label that nothing defines".to_owned());
        }
        // `crate::Type` is a link within rustdoc, which checks it.
        let is_elsewhere = ["https://", "http://", "mailto:"]
            .iter()
            .any(|scheme| destination.starts_with(scheme));
        if is_elsewhere || destination.contains("::") {
            return None;
        }
        let (path, anchor) = match destination.split_once('#') {
            Some((path, anchor)) => (path, Some(anchor)),
            None => (destination, None),
        };
        let target = if path.is_empty() {
            page.to_owned()
        } else {
            let folder = page.parent().unwrap_or(Path::new(""));
            match resolved(&folder.join(path)) {
                Some(target) => target,
                None => return Some("leads out of the repository".to_owned()),
            }
        };
        let Some(text) = self.pages.get(&target) else {
            let is_there = (self.has)(&target);
            return (!is_there)
                .then(|| format!("leads to {}, which is not there", target.display()));
        };
        let anchor = anchor?;
        (!anchors(text).contains(anchor))
            .then(|| format!("names a heading that {} does not have", target.display()))
    }
}

/// `path` without `.` and `..`; `None` if it leads above the root.
fn resolved(path: &Path) -> Option<PathBuf> {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => resolved.push(name),
            Component::CurDir => {}
            Component::ParentDir if resolved.pop() => {}
            _ => return None,
        }
    }
    Some(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(pages: &[(&str, &str)]) -> BTreeMap<PathBuf, String> {
        let page = |(path, text): &(&str, &str)| (PathBuf::from(path), (*text).to_owned());
        pages.iter().map(page).collect()
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found_with_its_line() {
        let pages = pages(&[
            (
                "README.md",
                "[a](docs/a.md) [b](docs/b.md)\n[c](docs/a.md#one) [d](docs/a.md#two)\n\
                 [e](#title) [f](../other/x.md) [g](/etc) [h](examples) [i](gone/)\n\n# Title\n",
            ),
            (
                "docs/a.md",
                "# One\n[up](../README.md#title) [far](https://example.org/#x) \
                 [type](crate::Lease) [no][label]",
            ),
        ]);
        let has = |path: &Path| path == Path::new("examples");
        let tree = Tree {
            pages: &pages,
            has: &has,
        };
        let expected = [
            "README.md:1: `docs/b.md` leads to docs/b.md, which is not there",
            "README.md:2: `docs/a.md#two` names a heading that docs/a.md does not have",
            "README.md:3: `../other/x.md` leads out of the repository",
            "README.md:3: `/etc` leads out of the repository",
            "README.md:3: `gone/` leads to gone, which is not there",
            "docs/a.md:2: `[label]` is a label that nothing defines",
        ];
        assert_eq!(tree.dead_links(), expected);
    }
}
