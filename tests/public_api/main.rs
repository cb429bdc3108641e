//! The public API of the published crates, next to its listing in `docs/public_api`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect_file;
use public_api::Builder;

/// The Rust whose rustdoc writes the format that the crate `public-api` reads.
const RUST: &str = "1.95.0";

/// The published crates.
const CRATES: [&str; 5] = [
    "redlock-conformance",
    "redlock-core",
    "redlock-inspect",
    "redlock-macros",
    "redlock-runtime",
];

#[test]
fn the_public_api_is_as_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let described = describe(&root);
    for name in CRATES {
        let description = described
            .join(name.replace('-', "_"))
            .with_extension("json");
        let listing = root
            .join("docs/public_api")
            .join(name)
            .with_extension("txt");
        expect_file![listing].assert_eq(&list(&description));
    }
}

/// Has rustdoc describe all crates with all features, as JSON. Returns the folder of the descriptions.
///
/// The whole workspace is documented, because cargo then takes the dependencies that earlier steps compiled.
fn describe(root: &Path) -> PathBuf {
    let version = Command::new("rustc").arg("--version").output();
    let version = String::from_utf8(version.expect("a compiler").stdout).expect("a version");
    let mut cargo = if version.contains(&format!(" {RUST} ")) {
        Command::new("cargo")
    } else {
        let mut rustup = Command::new("rustup");
        rustup.args(["run", "--install", RUST, "cargo"]);
        rustup
    };
    cargo.args([
        "doc",
        "--workspace",
        "--lib",
        "--all-features",
        "--no-deps",
        "--locked",
    ]);
    cargo.env("RUSTDOC", root.join(".ci/rustdoc"));
    cargo.env("RUSTDOCFLAGS", "-Z unstable-options --output-format json");
    let documented = cargo.current_dir(root).output().expect("cargo, or rustup");
    let errors = String::from_utf8_lossy(&documented.stderr);
    assert!(documented.status.success(), "{errors}");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    root.join(target).join("doc")
}

/// Returns the public items of a crate, one a line. The implementation of a trait of the standard library is one line,
/// and its methods are left out. So are the pages of the guide, which are modules in the documentation only.
fn list(description: &Path) -> String {
    let builder = Builder::from_rustdoc_json(description);
    let builder = builder.omit_blanket_impls(true).omit_auto_trait_impls(true);
    let api = builder.build().expect("the format of this rustdoc");
    let mut listing = String::new();
    let mut standard = None;
    for item in api.items().map(ToString::to_string) {
        if item.starts_with("impl") {
            standard = methods_of_standard_impl(&item);
        }
        let is_method = standard.as_ref().is_some_and(|it| item.contains(it));
        if !is_method
            && !["::StructuralPartialEq for ", "::guide"]
                .iter()
                .any(|it| item.contains(it))
        {
            listing += &item;
            listing.push('\n');
        }
    }
    listing
}

/// Returns how the names of the methods begin, if `header` implements a trait of the standard library.
fn methods_of_standard_impl(header: &str) -> Option<String> {
    let (of, owner) = header.split_once(" for ")?;
    let is_standard = ["core", "alloc", "std"]
        .iter()
        .any(|it| of.contains(&format!(" {it}::")));
    let owner = owner.split(['<', ' ']).next()?;
    is_standard.then(|| format!("fn {owner}"))
}
