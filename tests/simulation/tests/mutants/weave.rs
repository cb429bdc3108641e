//! Puts all mutants into one program, each behind a switch: fifty builds would take minutes.
//!
//! A body that a mutant changes becomes `if mutant::is(1) { the changed body } else { the body }`. The
//! environment variable `MUTANT` says at run time which mutant is on.

use std::collections::BTreeMap;

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{Block, ImplItemFn, ItemFn, ItemImpl, ItemTrait, Signature, TraitItemFn};

use crate::table::{Mutant, Patch};

/// The end of the copy's `redlock-core/src/lib.rs`.
pub(crate) const SWITCH: &str = "
extern crate self as redlock_core;

/// Which mutant is on.
pub mod mutant {
    pub fn is(number: usize) -> bool {
        static ON: std::sync::LazyLock<Option<usize>> =
            std::sync::LazyLock::new(|| std::env::var(\"MUTANT\").ok()?.parse().ok());
        *ON == Some(number)
    }
}
";

/// Changes functions of one file after the other.
pub(crate) struct Weave {
    changes: Vec<Change>,
    /// `Type::` for the functions of a type or a trait, otherwise empty.
    owner: String,
    is_changed: bool,
}

/// A patch of the mutant with that number.
struct Change {
    number: usize,
    patch: &'static Patch,
    find: String,
    /// The number of tokens to find.
    length: usize,
    replace: TokenStream,
    /// The number of places where it fitted.
    places: usize,
}

impl Weave {
    pub(crate) fn of(mutants: &[&'static Mutant]) -> Self {
        let mutants = mutants.iter().enumerate();
        let changes = mutants.flat_map(|(number, mutant)| {
            let changes = mutant.patches.iter();
            changes.map(move |patch| Change::of(number, patch))
        });
        Self {
            changes: changes.collect(),
            owner: String::new(),
            is_changed: false,
        }
    }

    /// Puts the mutants of its functions into a file with this `source`.
    pub(crate) fn weave_file(&mut self, source: &mut String) {
        let mut file = syn::parse_file(source).expect("a file of Rust");
        self.is_changed = false;
        self.visit_file_mut(&mut file);
        if self.is_changed {
            *source = prettyplease::unparse(&file);
        }
    }

    /// Panics unless each patch fitted in exactly one place.
    pub(crate) fn assert_fitted(&self) {
        let misfits = self.changes.iter().filter(|change| change.places != 1);
        let misfits: Vec<_> = misfits
            .map(|Change { patch, places, .. }| {
                format!("{} has {places} of `{}`", patch.function, patch.find)
            })
            .collect();
        assert!(misfits.is_empty(), "patches that do not fit: {misfits:#?}");
    }

    fn weave(&mut self, signature: &mut Signature, body: &mut Block) {
        // What a `const fn` calls is one too, and a switch is none.
        signature.constness = None;
        let function = format!("{}{}", self.owner, signature.ident);
        let statements = &body.stmts;
        let original = quote!(#(#statements)*);
        let mut mutated = BTreeMap::new();
        let is_here = |change: &&mut Change| text(&change.patch.function) == function;
        for change in self.changes.iter_mut().filter(is_here) {
            let places = change.places;
            let body = mutated.get(&change.number).unwrap_or(&original);
            let body = change.made(body.clone());
            if change.places > places {
                mutated.insert(change.number, body);
            }
        }
        self.is_changed |= !mutated.is_empty();
        let mut woven = quote!({ #original });
        for (number, body) in mutated {
            woven = quote!({ if ::redlock_core::mutant::is(#number) { #body } else #woven });
        }
        *body = syn::parse2(woven).unwrap_or_else(|error| panic!("in {function}: {error}"));
    }

    fn visit_owner(&mut self, owner: &TokenStream, visit: impl FnOnce(&mut Self)) {
        let owner = text(owner);
        let name = owner.split('<').next().unwrap_or_default();
        self.owner = format!("{name}::");
        visit(self);
        self.owner.clear();
    }
}

impl VisitMut for Weave {
    fn visit_item_impl_mut(&mut self, item: &mut ItemImpl) {
        self.visit_owner(&item.self_ty.to_token_stream(), |weave| {
            visit_mut::visit_item_impl_mut(weave, item);
        });
    }

    fn visit_item_trait_mut(&mut self, item: &mut ItemTrait) {
        self.visit_owner(&item.ident.to_token_stream(), |weave| {
            visit_mut::visit_item_trait_mut(weave, item);
        });
    }

    fn visit_item_fn_mut(&mut self, function: &mut ItemFn) {
        self.weave(&mut function.sig, &mut function.block);
    }

    fn visit_impl_item_fn_mut(&mut self, function: &mut ImplItemFn) {
        self.weave(&mut function.sig, &mut function.block);
    }

    fn visit_trait_item_fn_mut(&mut self, function: &mut TraitItemFn) {
        if let Some(body) = &mut function.default {
            self.weave(&mut function.sig, body);
        }
    }
}

impl Change {
    fn of(number: usize, patch: &'static Patch) -> Self {
        let find: TokenStream = patch.find.parse().expect("tokens");
        Self {
            number,
            patch,
            find: text(&find),
            length: find.into_iter().count(),
            replace: patch.replace.parse().expect("tokens"),
            places: 0,
        }
    }

    /// Returns `tokens` with the change in each place where it fits.
    fn made(&mut self, tokens: TokenStream) -> TokenStream {
        if self.find.is_empty() {
            self.places += 1;
            return self.replace.clone().into_iter().chain(tokens).collect();
        }
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let (mut made, mut rest) = (TokenStream::new(), &trees[..]);
        while let Some((first, others)) = rest.split_first() {
            let (piece, behind) = rest.split_at(self.length.min(rest.len()));
            if text(&piece.iter().cloned().collect::<TokenStream>()) == self.find {
                self.places += 1;
                made.extend(self.replace.clone());
                rest = behind;
                continue;
            }
            made.extend([match first {
                TokenTree::Group(group) => {
                    Group::new(group.delimiter(), self.made(group.stream())).into()
                }
                token => token.clone(),
            }]);
            rest = others;
        }
        made
    }
}

/// The text of `tokens` however they are formatted.
fn text(tokens: &impl ToString) -> String {
    let text: String = tokens.to_string().split_whitespace().collect();
    text.replace(",)", ")")
        .replace(",]", "]")
        .replace(",}", "}")
}
