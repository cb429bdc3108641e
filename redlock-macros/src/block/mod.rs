//! The block form, `locked!`: the same parameters, and an `async` block in place of a function.
//!
//! The parameters are parsed and checked as those of a function without arguments. It is named after
//! the line of the macro, so that two blocks of one module have different names.

mod split;

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::Lit;

use crate::args::Args;
use crate::check::{self, check};
use crate::errors::Errors;
use crate::expand::call;
use crate::function::Function;
use crate::parameters::Key;
use crate::plan::{IfLocked, Plan};
use crate::template::scan;
use split::split;

/// The `async` block, as the user wrote it.
struct Block {
    /// `async` or `async move`.
    opening: TokenStream,
    /// The statements, with their braces.
    body: Group,
}

/// Parse, check, expand. The output is an expression of the same type even if there are errors.
pub(crate) fn transform(input: TokenStream, line: usize) -> TokenStream {
    let mut errors = Errors::default();
    let (parameters, block) = split(input, &mut errors);
    let mut args = Args::parse(parameters.clone(), &mut errors);
    if !args.attempted(Key::Resource) {
        // The error for a missing block shows the resource too.
        if block.is_some() {
            let example = Key::Resource.example();
            let message = format!("missing `resource`; write `locked!({example}, async {{ … }})`");
            errors.at(Span::call_site(), message);
        }
        // Any, so that the rest is checked. All errors of parsing were reported.
        let parameters = quote!(resource = "missing", #parameters);
        args = Args::parse(parameters, &mut Errors::default());
    }
    if let Some(value) = args.get(Key::OncePer) {
        let message = "`locked!` does not know whether the block did its work; annotate a function that \
                       returns a `Result`, or write `lock(…).once_per(…).try_run(…)`";
        errors.under(value, message);
    }
    let function = stand_in(&args);
    let plan = check(&args, function.as_ref(), true, &mut errors);
    match (errors.into_compile_errors(), plan, function, block) {
        (None, Some(plan), Some(_), Some(block)) => expand(&plan, line, &block),
        (complaints, _, function, block) => {
            let block = block.map(|block| {
                let (guard, runtime) = check::of_a_refused(&args, function.as_ref());
                refused(&block, guard.as_ref(), &runtime)
            });
            quote!({ #complaints #block })
        }
    }
}

/// Writes the future that runs the user's block under the lock.
//
// Input:
//     locked!(resource = "order:{id}", ttl = "10s", guard = lease, async move {
//         send(id, lease).await
//     })
//
// Output (paths shortened, and the `__` taken off the names of locals):
//     async move {
//         let call = Call::new(
//             { static SITE: Site = …; … &SITE },
//             resource(format_args!("order:{id}")),
//         );
//         let held = &Slot::new();
//         let body = async move {
//             let lease: &Lease = held.lease();
//             send(id, lease).await
//         };
//         let body = async move { Ok::<_, LockError>(body.await) };
//         call.run_with(held, body, &Answers { refused: Err, is_success: |_| true }).await
//     }
//
// Both blocks around the user's begin with the user's own `async` or `async move`: they capture what the
// user's block captures, in the same way, and rustc's advice to add `move` changes all of them.
fn expand(plan: &Plan, line: usize, block: &Block) -> TokenStream {
    let runtime = &plan.runtime;
    let here = Span::mixed_site();
    let private = quote_spanned!(here=> #runtime::__private);
    let call = call(plan, &name(line), &private);
    let Block { opening, body } = block;
    let guard = plan.guard.as_ref().map(|guard| {
        let span = here.located_at(guard.span());
        quote_spanned!(span=> let #guard: &#private::Lease = #private::Slot::lease(__held);)
    });
    let (value, refused) = match plan.if_locked {
        Some(IfLocked::Skip) => (
            quote_spanned!(here=> ::core::option::Option::Some(__body.await)),
            quote_spanned! {here=>
                <::core::result::Result<::core::option::Option<_>, #private::LockError>
                    as #private::FromSkip>::from_refusal
            },
        ),
        Some(IfLocked::Error) | None => (
            quote_spanned!(here=> __body.await),
            quote_spanned!(here=> ::core::result::Result::Err),
        ),
    };
    let answers = quote_spanned! {here=>
        &#private::Answers { refused: #refused, is_success: |_| true }
    };
    let (held, run) = match &plan.guard {
        None => (
            None,
            quote_spanned!(here=> #private::Call::run(__call, __body, #answers)),
        ),
        Some(guard) => {
            let span = here.located_at(guard.span());
            (
                Some(quote_spanned!(span=> let __held = &#private::Slot::new();)),
                quote_spanned! {here=>
                    #private::Call::run_with(__call, __held, __body, #answers)
                },
            )
        }
    };
    let locked = inside(body, guard);
    quote_spanned! {here=>
        #opening {
            #call
            #held
            let __body = #opening #locked;
            let __body = #opening {
                ::core::result::Result::Ok::<_, #private::LockError>(#value)
            };
            #run.await
        }
    }
}

/// The block's name, as a constant. In a macro, it has the line of the macro's call, which is known only
/// after this expansion, and the line in the macro: neither two calls nor two blocks have one name.
fn name(line: usize) -> TokenStream {
    let number = Literal::u32_unsuffixed(u32::try_from(line).unwrap_or(u32::MAX));
    let name = format!("line_{line}");
    quote_spanned! {Span::mixed_site()=>
        if ::core::line!() == #number {
            #name
        } else {
            ::core::concat!("line_", ::core::line!(), "_", #number)
        }
    }
}

/// The user's block, with a statement before its own. No block around it: lints would take its end for
/// the user's.
fn inside(body: &Group, statement: Option<TokenStream>) -> Group {
    let Some(mut tokens) = statement else {
        return body.clone();
    };
    tokens.extend(body.stream());
    let mut group = Group::new(Delimiter::Brace, tokens);
    group.set_span(body.span());
    group
}

/// The block without a lock, for the IDE, and so that one mistake causes one error.
fn refused(block: &Block, guard: Option<&Ident>, runtime: &TokenStream) -> TokenStream {
    let Block { opening, body } = block;
    let guard = guard.map(|guard| {
        let here = Span::mixed_site().located_at(guard.span());
        quote_spanned! {here=>
            let #guard: &#runtime::__private::Lease =
                ::core::option::Option::unwrap(::core::option::Option::None);
            let _ = #guard;
        }
    });
    let body = inside(body, guard);
    quote_spanned! {Span::mixed_site()=>
        #opening {
            let __body = #opening #body;
            ::core::result::Result::Ok::<_, #runtime::__private::LockError>(__body.await)
        }
    }
}

/// A function as the checks of the attribute know it. Its parameters are the names with which the
/// placeholders of all strings begin: in a block these are any variables.
fn stand_in(args: &Args) -> Option<Function> {
    let mut roots: Vec<Ident> = Vec::new();
    for key in [Key::Resource, Key::Note] {
        let value = args.get(key).map(ToTokens::to_token_stream);
        collect_roots(value.unwrap_or_default(), &mut roots);
    }
    let receiver = roots.iter().filter(|root| *root == "self");
    let others = roots.iter().filter(|root| *root != "self");
    let item = quote!(async fn block(#(&#receiver,)* #(#others: ()),*) {});
    Function::parse(item, &mut Errors::default())
}

/// The first segments of the placeholders in all strings, each once.
fn collect_roots(tokens: TokenStream, roots: &mut Vec<Ident>) {
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            collect_roots(group.stream(), roots);
        }
        let span = token.span();
        let text = match syn::parse2::<Lit>(token.into()) {
            Ok(Lit::Str(text)) => text.value(),
            Ok(Lit::ByteStr(text)) => String::from_utf8_lossy(&text.value()).into_owned(),
            _ => continue,
        };
        let placeholders = scan(&text).map_or_else(|_| Vec::new(), |scanned| scanned.placeholders);
        for placeholder in &placeholders {
            let root = variable(placeholder.path[0], span);
            roots.extend(root.filter(|root| !roots.contains(root)));
        }
    }
}

/// A name as an identifier, or a raw one if it is a keyword.
fn variable(name: &str, span: Span) -> Option<Ident> {
    let is_lexed = name.chars().all(|c| c == '_' || c.is_alphanumeric())
        && !name.starts_with(char::is_numeric)
        && !matches!(name, "_" | "Self" | "super" | "crate");
    if !is_lexed {
        return None;
    }
    let mut ident = match name {
        "self" => Ident::new(name, span),
        _ => syn::parse_str(name)
            .or_else(|_| syn::parse_str(&format!("r#{name}")))
            .ok()?,
    };
    ident.set_span(span);
    Some(ident)
}

#[cfg(test)]
mod tests {
    use super::transform;

    fn errors(input: &str) -> Vec<String> {
        let output = transform(input.parse().expect(input), 7).to_string();
        let mut parts = output.split("compile_error ! { \"");
        parts.next();
        parts
            .map(|part| part.split_once("\" }").expect(part).0.to_owned())
            .collect()
    }

    #[test]
    fn a_block_with_parameters_is_an_expression() {
        for input in [
            r#"resource = "a", async {}"#,
            r#"resource = "a", async move { 1 },"#,
            r#"resource = "a:{b}:{c.d}:{self.e}:{type.f}", ttl = "10s", guard = lease, async move {}"#,
            r#"resource = format!("{x}"), if_locked = "skip", async { return 1 }"#,
            "async {}",
            r#"resource = "a""#,
            r#"resource = "a", { 1 }"#,
            "",
        ] {
            let output = transform(input.parse().expect(input), 7);
            syn::parse2::<syn::Expr>(output).expect(input);
        }
    }

    #[test]
    fn each_slip_is_named_once() {
        let ends = "`locked!` ends with the block to run; \
                    write `locked!(resource = \\\"order:{id}\\\", async move { … })`";
        let last = "the block comes last; write `locked!(resource = \\\"order:{id}\\\", async move { … })`";
        let is_async = "the block is an `async` block; write `async { … }`, \
                        or `async move { … }` if it outlives what it uses";
        let table: &[(&str, &[&str])] = &[
            (r#"resource = "a", async {}"#, &[]),
            (r#"resource = "a""#, &[ends]),
            (r#"resource = "a" => { 1 }"#, &[is_async]),
            (r#"resource = "a", { 1 }"#, &[is_async]),
            (r#"resource = "a", |lease| { 1 }"#, &[is_async]),
            (r#"resource = "a", || async { 1 }"#, &[is_async]),
            (r#"resource = "a", async move || { 1 }"#, &[is_async]),
            (
                r#"resource = "a", move async { 1 }"#,
                &["the words are in another order; write `async move { … }`"],
            ),
            ("", &[ends]),
            ("ttl = 50", &[ends]),
            (r#"resource = "a", charge(id)"#, &[ends]),
            (r#"resource = "a", Box::pin(async move { 1 })"#, &[ends]),
            (r#"async move { 1 }, resource = "a""#, &[last]),
            (r#"ttl = 50, async { 1 }, resource = "a","#, &[last]),
            (
                "async {}, ttl = 50",
                &[
                    last,
                    "missing `resource`; write `locked!(resource = \\\"order:{id}\\\", async { … })`",
                ],
            ),
            (
                r#"resource = "a", async { 1 }.await"#,
                &["nothing can follow the block; call it on the future that `locked!(…)` returns"],
            ),
            (
                r#"resource = "a" async { 1 }"#,
                &["expected `,` before the block"],
            ),
            (
                r#"resource = "a"; async { 1 }"#,
                &["expected `,` between parameters"],
            ),
            (
                r#"resource = "a" => async { 1 }"#,
                &["expected `,` between parameters"],
            ),
            (
                r#""a", async { 1 }"#,
                &[r#"a value needs its key; write `resource = \"a\"`"#],
            ),
            (
                "ttl = 0, async {}",
                &[
                    "missing `resource`; write `locked!(resource = \\\"order:{id}\\\", async { … })`",
                    "`ttl` must be at least 10 ms; write `ttl = 60_000` or `ttl = \\\"60s\\\"`",
                ],
            ),
        ];
        for (input, expected) in table {
            assert_eq!(&errors(input), expected, "{input}");
        }
    }
}
