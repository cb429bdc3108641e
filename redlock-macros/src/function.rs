//! The annotated function: its signature parsed, its body kept as raw tokens.
//!
//! Raw tokens let the macro work on incomplete code in an editor, and on syntax newer than syn.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::visit::{self, Visit};
use syn::{
    Attribute, FieldPat, FnArg, Ident, PatIdent, ReturnType, Signature, Token, Type, Visibility,
};

use crate::async_kind::{AsyncKind, first_return, future_at_the_end};
use crate::errors::Errors;
use crate::item_check::{NO_FUNCTION, entry_point, is_punct, is_word, not_async};
use crate::return_type::future_output;

/// A function that can run under a lock.
pub(crate) struct Function {
    /// All tokens before the body, unchanged.
    pub header: TokenStream,
    /// The attributes below this one.
    pub attributes: Vec<Attribute>,
    pub signature: Signature,
    /// The inner attributes `#![…]` of the body. Rust accepts them only at the start of a function,
    /// so they move to the start of the new body.
    pub inner_attributes: TokenStream,
    /// The span of the function's own braces.
    pub braces: Span,
    /// The user's block, with its braces.
    pub body: Group,
    /// The tokens around the block.
    pub kind: AsyncKind,
    /// The output type of the block, or `None` if the signature has no arrow.
    pub output: Option<Type>,
}

impl Function {
    /// Parses an item that can run under a lock. Reports one error for any other item.
    pub(crate) fn parse(item: TokenStream, errors: &mut Errors) -> Option<Self> {
        let mut header: Vec<TokenTree> = item.into_iter().collect();
        let body = header.last().and_then(block);
        if body.is_some() {
            header.pop();
        }
        let tokens: TokenStream = header.iter().cloned().collect();
        let Ok((attributes, signature)) = parse_header.parse2(tokens.clone()) else {
            // For a broken function, rustc has an error of its own.
            if !header.iter().any(|token| is_word(token, "fn")) {
                let is_any_word = |token: &&TokenTree| matches!(token, TokenTree::Ident(_));
                let begin = header.iter().find(is_any_word);
                let begin = begin.map_or_else(Span::call_site, TokenTree::span);
                errors.at(begin, NO_FUNCTION);
            }
            return None;
        };
        if let Some((path, message)) = entry_point(&attributes) {
            errors.under(path, message);
            return None;
        }
        let fn_span = signature.fn_token.span;
        let Some(body) = body else {
            errors.at(
                fn_span,
                "`#[redlock]` needs a body to run under the lock; put it on the implementation",
            );
            return None;
        };

        let braces = body.span();
        let (inner_attributes, body) = split_inner_attributes(body);
        let (kind, body, output) = match (&signature.asyncness, &signature.output) {
            (Some(_), ReturnType::Default) => (AsyncKind::AsyncFn, body, None),
            (Some(_), ReturnType::Type(_, ty)) => (AsyncKind::AsyncFn, body, Some((**ty).clone())),
            (None, output) => {
                let Some((tail, block)) = future_at_the_end(&body) else {
                    errors.at(fn_span, not_async(body.stream(), &signature));
                    return None;
                };
                if let Some(early) = first_return(tail.statements.clone()) {
                    errors.at(
                        early,
                        "a future that is returned here would run without the lock; \
                         put the condition into the `async` block at the end",
                    );
                    return None;
                }
                (
                    AsyncKind::ReturnsFuture(tail),
                    block,
                    Some(future_output(output)),
                )
            }
        };
        Some(Self {
            header: tokens,
            attributes,
            signature,
            inner_attributes,
            braces,
            body,
            kind,
            output,
        })
    }

    /// Returns the names that the parameters bind, in order, `self` first.
    pub(crate) fn parameters(&self) -> Vec<Ident> {
        self.signature.inputs.iter().flat_map(bindings).collect()
    }
}

pub(crate) fn parse_header(input: ParseStream<'_>) -> syn::Result<(Vec<Attribute>, Signature)> {
    let attributes = input.call(Attribute::parse_outer)?;
    input.parse::<Visibility>()?;
    input.parse::<Option<Token![default]>>()?;
    // Skip `safe`, which occurs only in an `unsafe extern` block and which syn's signatures lack.
    let next = input.fork().call(Ident::parse_any);
    if next.is_ok_and(|word| word == "safe") {
        input.call(Ident::parse_any)?;
    }
    let signature = input.parse()?;
    input.parse::<Option<Token![;]>>()?;
    Ok((attributes, signature))
}

/// Returns the brace group of a token, even inside the invisible group of a macro fragment.
pub(crate) fn block(token: &TokenTree) -> Option<Group> {
    let TokenTree::Group(group) = token else {
        return None;
    };
    match group.delimiter() {
        Delimiter::Brace => Some(group.clone()),
        Delimiter::None => {
            let mut inside = group.stream().into_iter();
            inside
                .next()
                .filter(|_| inside.next().is_none())
                .and_then(|only| block(&only))
        }
        _ => None,
    }
}

/// Removes `#![…]` from the start of a body.
pub(crate) fn split_inner_attributes(body: Group) -> (TokenStream, Group) {
    let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let count = tokens
        .chunks(3)
        .take_while(|chunk| match chunk {
            [pound, bang, TokenTree::Group(group)] => {
                is_punct(pound, '#')
                    && is_punct(bang, '!')
                    && group.delimiter() == Delimiter::Bracket
            }
            _ => false,
        })
        .count();
    if count == 0 {
        // Return the group itself, because a new group would lose the spans of both braces.
        return (TokenStream::new(), body);
    }
    let mut rest = Group::new(
        Delimiter::Brace,
        tokens[count * 3..].iter().cloned().collect(),
    );
    rest.set_span(body.span());
    (tokens[..count * 3].iter().cloned().collect(), rest)
}

/// Returns the names that a parameter binds, in order.
/// Fields with an attribute are left out, because a `#[cfg]` may remove them.
pub(crate) fn bindings(input: &FnArg) -> Vec<Ident> {
    struct Bindings(Vec<Ident>);

    impl<'ast> Visit<'ast> for Bindings {
        fn visit_pat_ident(&mut self, binding: &'ast PatIdent) {
            self.0.push(binding.ident.clone());
            visit::visit_pat_ident(self, binding);
        }

        fn visit_field_pat(&mut self, field: &'ast FieldPat) {
            if field.attrs.is_empty() {
                visit::visit_field_pat(self, field);
            }
        }
    }

    match input {
        FnArg::Receiver(receiver) => vec![Ident::new("self", receiver.self_token.span)],
        FnArg::Typed(typed) => {
            let mut bindings = Bindings(Vec::new());
            bindings.visit_pat(&typed.pat);
            bindings.0
        }
    }
}
