//! The paths within its crate that a source file names.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, ItemMod, ItemUse, UseTree};

/// A path that a file names, from the root of its crate.
pub(crate) struct Import {
    pub(crate) line: usize,
    pub(crate) path: Vec<String>,
}

/// Returns all paths in `source`, the text of `module`, that begin with `crate`, `super` or `self`. What is
/// compiled for tests only does not count.
pub(crate) fn imports(source: &str, module: &[String]) -> syn::Result<Vec<Import>> {
    let file = syn::parse_file(source)?;
    let mut reader = Reader {
        module: module.to_vec(),
        found: Vec::new(),
    };
    reader.visit_file(&file);
    Ok(reader.found)
}

struct Reader {
    module: Vec<String>,
    found: Vec<Import>,
}

impl Reader {
    fn add(&mut self, line: usize, path: &[String]) {
        let mut full = match path.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self" | "super") => self.module.clone(),
            _ => return,
        };
        for part in path {
            match part.as_str() {
                "crate" | "self" => {}
                "super" => {
                    full.pop();
                }
                _ => full.push(part.clone()),
            }
        }
        self.found.push(Import { line, path: full });
    }

    fn add_tree(&mut self, tree: &UseTree, before: &[String]) {
        let with = |ident: &Ident| [before, &[ident.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.add_tree(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(tree, before);
                }
            }
            UseTree::Name(name) => self.add(line(tree), &with(&name.ident)),
            UseTree::Rename(rename) => self.add(line(tree), &with(&rename.ident)),
            UseTree::Glob(_) => self.add(line(tree), before),
        }
    }
}

fn line(tree: &UseTree) -> usize {
    tree.span().start().line
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_test = |list: &syn::MetaList| list.tokens.to_string() == "test";
        attribute.path().is_ident("cfg") && attribute.meta.require_list().is_ok_and(is_test)
    })
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes: &[Attribute] = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => &[],
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.add_tree(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<String> = path
            .segments
            .iter()
            .map(|it| it.ident.to_string())
            .collect();
        self.add(path.span().start().line, &parts);
        visit::visit_path(self, path);
    }
}
