//! The annotated function: its signature parsed, its body kept as raw tokens.
//!
//! Raw tokens let the macro work on incomplete code in an editor, and on syntax newer than syn.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::spanned::Spanned as _;
use syn::{Attribute, FnArg, Ident, Pat, Signature, Token, Type, Visibility};

use crate::errors::Errors;
use crate::output::future_output;
use crate::shape::{Shape, future_at_the_end};
use crate::unsuited::{entry_point, keyword_of_other_item, not_async};

/// A function that can run under a lock.
pub(crate) struct Function {
    /// All tokens before the body, unchanged.
    pub header: TokenStream,
    pub signature: Signature,
    /// The inner attributes `#![…]` of the body. Rust accepts them only at the start of a function,
    /// so they move to the start of the new body.
    pub inner_attributes: TokenStream,
    /// The span of the function's own braces.
    pub braces: Span,
    /// The user's block, with its braces.
    pub body: Group,
    /// The tokens around the block.
    pub shape: Shape,
    /// `.boxed()` after the block.
    pub boxed: TokenStream,
    /// The output type of the block; `None` for a signature without an arrow.
    pub output: Option<Type>,
}

impl Function {
    /// Parses an item. Reports one error if the item cannot run under a lock.
    pub(crate) fn parse(item: TokenStream, errors: &mut Errors) -> Option<Self> {
        let mut header: Vec<TokenTree> = item.into_iter().collect();
        let body = header.last().and_then(block);
        if body.is_some() {
            header.pop();
        }

        let tokens: TokenStream = header.iter().cloned().collect();
        let parsed = parse_header.parse2(tokens.clone());
        let (attributes, signature) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                match keyword_of_other_item(&header) {
                    Some(span) => errors.at(span, "`#[redlock]` goes on an `async fn`"),
                    None => errors.push(error),
                }
                return None;
            }
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
        if signature.asyncness.is_some() {
            let output = match &signature.output {
                syn::ReturnType::Default => None,
                syn::ReturnType::Type(_, ty) => Some((**ty).clone()),
            };
            let shape = Shape::AsyncFn;
            return Some(Self {
                header: tokens,
                signature,
                inner_attributes,
                braces,
                body,
                shape,
                boxed: TokenStream::new(),
                output,
            });
        }

        let (rest, boxed) = split_boxed(&body);
        if let Some((shape, block)) = future_at_the_end(&rest) {
            if let Some(early) = shape.early_return() {
                errors.at(
                    early,
                    "a future that is returned here would run without the lock; \
                     put the condition into the `async` block at the end",
                );
                return None;
            }
            let output = Some(future_output(&signature.output));
            return Some(Self {
                header: tokens,
                signature,
                inner_attributes,
                braces,
                body: block,
                shape,
                boxed,
                output,
            });
        }
        errors.at(fn_span, not_async(body.stream(), &signature));
        None
    }

    /// The names that the parameters bind, in order, `self` first.
    pub(crate) fn parameters(&self) -> Vec<Ident> {
        let inputs = self.signature.inputs.iter();
        let bindings = inputs.flat_map(bindings);
        bindings.map(|binding| binding.name).collect()
    }
}

pub(crate) fn parse_header(input: ParseStream<'_>) -> syn::Result<(Vec<Attribute>, Signature)> {
    let attributes = input.call(Attribute::parse_outer)?;
    input.parse::<Visibility>()?;
    input.parse::<Option<Token![default]>>()?;
    // `safe` occurs in an `unsafe extern` block only. syn's signatures do not have it.
    let next = input.fork().call(Ident::parse_any);
    if next.is_ok_and(|word| word == "safe") {
        input.call(Ident::parse_any)?;
    }
    let signature = input.parse()?;
    input.parse::<Option<Token![;]>>()?;
    Ok((attributes, signature))
}

/// The brace group of a token, also inside the invisible group of a `macro_rules!` fragment.
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
    let is_punct = |token: &TokenTree, c| matches!(token, TokenTree::Punct(p) if p.as_char() == c);
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
        // Unchanged: a rebuilt group would lose the spans of its two braces.
        return (TokenStream::new(), body);
    }
    let mut rest = Group::new(
        Delimiter::Brace,
        tokens[count * 3..].iter().cloned().collect(),
    );
    rest.set_span(body.span());
    (tokens[..count * 3].iter().cloned().collect(), rest)
}

/// Splits `.boxed()` or `.boxed_local()` of `FutureExt` off the end of a body. The `;` of a `return` stays
/// with the body.
fn split_boxed(body: &Group) -> (Group, TokenStream) {
    let mut tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let is_boxed = |end: &[TokenTree]| match end {
        [
            TokenTree::Punct(dot),
            TokenTree::Ident(name),
            TokenTree::Group(arguments),
        ] => {
            dot.as_char() == '.'
                && (name == "boxed" || name == "boxed_local")
                && arguments.delimiter() == Delimiter::Parenthesis
                && arguments.stream().is_empty()
        }
        _ => false,
    };
    let is_semicolon =
        |token: &mut TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ';');
    let end = tokens.pop_if(is_semicolon);
    let at = tokens.len().saturating_sub(3);
    if !is_boxed(&tokens[at..]) {
        return (body.clone(), TokenStream::new());
    }
    let boxed = tokens.split_off(at);
    tokens.extend(end);
    let mut rest = Group::new(Delimiter::Brace, tokens.into_iter().collect());
    rest.set_span(body.span());
    (rest, boxed.into_iter().collect())
}

/// A name that a parameter binds.
pub(crate) struct Binding {
    pub name: Ident,
    /// The attributes of the parameter, and of the fields around the name in its pattern.
    pub attributes: Vec<Attribute>,
}

/// The names that a parameter binds, in order.
pub(crate) fn bindings(input: &FnArg) -> Vec<Binding> {
    match input {
        FnArg::Receiver(receiver) => vec![Binding {
            name: Ident::new("self", receiver.self_token.span),
            attributes: receiver.attrs.clone(),
        }],
        FnArg::Typed(typed) => {
            let mut bindings = Vec::new();
            collect(&typed.pat, &typed.attrs, &mut bindings);
            bindings
        }
    }
}

/// Collects the names that a pattern binds. `outer` are the attributes around the pattern.
fn collect(pattern: &Pat, outer: &[Attribute], bindings: &mut Vec<Binding>) {
    match pattern {
        Pat::Ident(binding) => {
            bindings.push(Binding {
                name: binding.ident.clone(),
                attributes: outer.to_vec(),
            });
            if let Some((_, inner)) = &binding.subpat {
                collect(inner, outer, bindings);
            }
        }
        Pat::Struct(pattern) => {
            for field in &pattern.fields {
                let attributes = [outer, &field.attrs].concat();
                collect(&field.pat, &attributes, bindings);
            }
        }
        Pat::Tuple(pattern) => collect_all(&pattern.elems, outer, bindings),
        Pat::TupleStruct(pattern) => collect_all(&pattern.elems, outer, bindings),
        Pat::Slice(pattern) => collect_all(&pattern.elems, outer, bindings),
        // Every alternative binds the same names.
        Pat::Or(pattern) => collect_all(pattern.cases.iter().take(1), outer, bindings),
        Pat::Reference(pattern) => collect(&pattern.pat, outer, bindings),
        Pat::Paren(pattern) => collect(&pattern.pat, outer, bindings),
        Pat::Type(pattern) => collect(&pattern.pat, outer, bindings),
        _ => {}
    }
}

fn collect_all<'a>(
    patterns: impl IntoIterator<Item = &'a Pat>,
    outer: &[Attribute],
    bindings: &mut Vec<Binding>,
) {
    for pattern in patterns {
        collect(pattern, outer, bindings);
    }
}

impl Function {
    /// The span for an error about the return type: the type, or the function's name if there is no
    /// type.
    pub(crate) fn output_span(&self) -> Span {
        self.output
            .as_ref()
            .map_or_else(|| self.signature.ident.span(), Type::span)
    }
}
