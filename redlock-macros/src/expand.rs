//! Phase three: emits the output tokens. Phase two has checked all input, so nothing here can fail.

use std::time::Duration;

use proc_macro2::{Delimiter, Group, Literal, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Expr, Ident};

use crate::argument_capture::Captured;
use crate::async_kind::AsyncKind;
use crate::function::Function;
use crate::parameters::{Key, ValueKind, Variant};
use crate::plan::{FormatArgument, LockPlan, PlainValue, ResourcePlan, Template, TextPlan};
use crate::return_type::Output;

/// Emits the function that runs the user's body under the lock.
//
// The input:
// ```
//     #[redlock(resource = "order:{id}", ttl = 60_000, pools = ["a", "b", "c"], guard = lease)]
//     async fn charge(id: u64) -> Result<Receipt, AppError> {
//         send(id, lease).await
//     }
// ```
// The output, with shortened paths and without the `__redlock_` in front of each name:
// ```
//     async fn charge(id: u64) -> Result<Receipt, AppError> {
//         let spec = LockSpec::formatted(
//             {
//                 static SITE: Site = SiteBuilder::new(concat!(module_path!(), "::", "charge"), file!(), line!(), column!(), "order:{id}")
//                     .ttl(Duration::from_millis(60000))
//                     .pools(&["a", "b", "c"])
//                     .site();
//                 inventory::submit! { Registration(&SITE) }
//                 &SITE
//             },
//             format_args!("order:{id}"),
//         );
//         let slot = &LeaseSlot::new();
//         let body = async move {
//             // Never runs. Types `return`, and makes the body own its arguments.
//             if let Some(ret) = None::<Result<Receipt, AppError>> {
//                 capture!(id);
//                 return ret;
//             }
//             let lease: &Lease = slot.lease(); // with `fencing = true`: `&Fenced<Lease>`, `slot.fenced_lease()`
//             ({ send(id, lease).await })
//         };
//         let value = run_call(
//             spec.begin().with_slot(slot), // `spec.begin()` without a guard
//             body,
//             ReturnRules {
//                 from_error: <Result<Receipt, AppError> as FromLockError>::from_lock_error,
//                 is_success: <Result<Receipt, AppError> as FromLockError>::is_success,
//             },
//         );
//         return value.await;
//     }
// ```
// If the attribute has expressions or fields, the specification moves into the body, after the first statement, and
// `LockSpec::request(spec).await` follows it. The body then owns the arguments: an argument that an expression uses
// only in part is dropped with the body, and a template keeps no copy of it. `run_call` polls the body of
// `CallState::requesting()` until the body requests its lock.
//
// The specification precedes the user's block, so that the resource is computed before the block moves an argument.
// The specification is a separate statement, because the borrows of a template must not live across the `await`.
//
// The body is made before the first await and moves into the future that runs it, so it is stored only once. That
// future drops the body before it releases the lock. If the future is dropped or panics, it drops the body first and
// the lease in `slot` after it. The body is a variable, because editors analyse code in one macro better than code in
// two.
//
// rustc compiles every expression here once for each annotated function. To keep that cheap, the future calls a
// function to convert an error, instead of a `match` around the `await`.
//
// Locals at `Span::mixed_site()` are invisible to user code. Items are visible, so a block surrounds `SITE`.
// That block contains only the user's literals and constants. The user's items are visible to our locals too:
// `let spec` does not bind if a constant or a unit struct is named `spec`. actix makes such a unit struct of every
// handler below a route's attribute. The prefix `__redlock_` keeps our locals apart from them.
//
// The `return` at the end improves lifetime errors. rustc follows a reference on its way out of the function, and
// blames the last `return` that does not come from an `.await`. If the output came straight from the `.await`,
// rustc would blame the user's `return`.
pub(crate) fn expand(plan: &LockPlan, function: &Function) -> TokenStream {
    let runtime = &plan.runtime;
    let here = Span::mixed_site();
    let private = quote_spanned!(here=> #runtime::__private);
    let output = Output::of(function.output.as_ref(), &function.signature.ident);

    let spec = spec(plan, function, &private);
    // Only owned arguments have to be dropped before the release.
    let owns = !plan.captured.is_empty() || !matches!(function.kind, AsyncKind::AsyncFn);
    let requests = owns && plan.uses_fields_or_expressions();
    let (before, inside, mut state) = if requests {
        let request =
            quote_spanned!(here=> #spec #private::LockSpec::request(__redlock_spec).await;);
        let state = quote_spanned!(here=> #private::CallState::requesting());
        (None, Some(request), state)
    } else {
        let state = quote_spanned!(here=> #private::LockSpec::begin(__redlock_spec));
        (Some(spec), None, state)
    };
    let body = body(plan, function, &output, inside.as_ref(), &private);
    let rules = output.return_rules(plan.skips, &private);
    let slot = plan.guard.as_ref().map(|guard| {
        state = quote_spanned!(here=> #private::CallState::with_slot(#state, __redlock_slot));
        let here = here.located_at(guard.span());
        quote_spanned!(here=> let __redlock_slot = &#private::LeaseSlot::new();)
    });
    // Uses the span of the return type, where rustc then notes that the value is not `Send`.
    let value = Ident::new("__redlock_value", output.span);
    let wrap = output.wrap_response(plan.skips, &private);
    let block = quote_spanned! {here=>
        #before
        #slot
        let __redlock_body = #body;
        #wrap
        let #value = #private::run_call(#state, __redlock_body, #rules);
        return #value.await;
    };

    let mut inside = function.inner_attributes.clone();
    inside.extend(function.kind.surround(block, &private));
    let mut new = Group::new(Delimiter::Brace, inside);
    // End the item with the user's own brace. With a generated brace, rustc would take the whole function
    // for generated code, and not warn about an unused function.
    new.set_span(function.braces);
    let mut item = function.header.clone();
    new.to_tokens(&mut item);
    item
}

/// Emits the lock's specification: the site, the resource, and the values of the call.
fn spec(plan: &LockPlan, function: &Function, private: &TokenStream) -> TokenStream {
    let site = site(plan, function, private);
    let new = |names: TokenStream| quote_spanned!(Span::mixed_site()=> new(#site, #private::NamesLock::resource(#names)));
    let resource = match &plan.resource {
        ResourcePlan::One(TextPlan::Template(template)) => {
            let format = format(template, private);
            quote_spanned!(Span::mixed_site()=> formatted(#site, ::core::format_args!(#format)))
        }
        ResourcePlan::All(templates) => {
            let names = templates.iter().map(|template| {
                let format = format(template, private);
                quote_spanned!(Span::mixed_site()=> #private::format!(#format))
            });
            new(quote_spanned!(Span::mixed_site()=> [#(#names),*]))
        }
        ResourcePlan::One(TextPlan::Expression(value)) => new(value.to_token_stream()),
    };
    let note = plan.note.as_ref().map(|note| match note {
        TextPlan::Template(template) => {
            let format = format(template, private);
            quote_spanned! {Span::mixed_site()=>
                let __redlock_spec = __redlock_spec.note(::core::format_args!(#format));
            }
        }
        TextPlan::Expression(note) => {
            let here = Span::mixed_site().located_at(note.span());
            quote_spanned! {here=>
                let __redlock_spec = match &(#note) {
                    __redlock_note => __redlock_spec.note(::core::format_args!("{}", __redlock_note)),
                };
            }
        }
    });
    let expressions = plan.values.expressions();
    let at_call = expressions.map(|(key, value)| at_call(key, value, private));
    // Emit statements, so that the borrows of formatting end before an expression awaits.
    quote_spanned! {Span::mixed_site()=>
        let __redlock_spec = #private::LockSpec::#resource;
        #note
        #(#at_call)*
    }
}

/// Emits a template as the arguments of a formatting macro.
fn format(template: &Template, private: &TokenStream) -> TokenStream {
    let Template {
        format, arguments, ..
    } = template;
    let arguments = arguments.iter().map(|argument| {
        let FormatArgument { name, value, .. } = argument;
        if argument.is_part {
            let here = Span::mixed_site().located_at(format.span());
            quote_spanned!(here=> , #name = #private::Resource::part(::core::format_args!("{}", #value)))
        } else {
            quote!(, #name = #value)
        }
    });
    quote!(#format #(#arguments)*)
}

/// Emits the static description of the function, which is registered at link time.
fn site(plan: &LockPlan, function: &Function, private: &TokenStream) -> TokenStream {
    let resource = match &plan.resource {
        ResourcePlan::One(TextPlan::Template(template)) => template.written.value(),
        ResourcePlan::All(templates) => {
            let written: Vec<String> = templates.iter().map(|one| one.written.value()).collect();
            written.join(" + ")
        }
        ResourcePlan::One(TextPlan::Expression(value)) => value.to_token_stream().to_string(),
    };
    let resource = Literal::string(&resource);
    let name = function.signature.ident.to_string();
    let name = Literal::string(name.trim_start_matches("r#"));
    let at_mixed_site = Span::mixed_site();
    let values = plan.values.constants().map(|(key, value)| {
        let (method, value) = (setter(key), constant(key, value, private));
        quote_spanned!(at_mixed_site=> .#method(#value))
    });
    let skips = (plan.skips).then(|| quote_spanned!(at_mixed_site=> .skip_if_locked()));
    let several = plan.resource.has_several_names();
    let several = several.then(|| quote_spanned!(at_mixed_site=> .several_names()));
    // The call refuses a text with a parameter's name in braces. The macro cannot see the text of an expression.
    let is_expression = matches!(plan.resource, ResourcePlan::One(TextPlan::Expression(_)));
    let parameters = is_expression.then(|| {
        let names = function.parameters();
        let names = names.iter().map(|name| name.unraw().to_string());
        quote_spanned!(at_mixed_site=> .parameters(&[#(#names),*]))
    });
    let at_call = plan.values.expressions().map(|(key, _)| key.name());
    let at_call: Vec<_> = at_call.collect();
    let at_call =
        (!at_call.is_empty()).then(|| quote_spanned!(at_mixed_site=> .at_call(&[#(#at_call),*])));
    quote_spanned! {at_mixed_site=>
        {
            static __redlock_SITE: #private::Site = #private::SiteBuilder::new(
                ::core::concat!(::core::module_path!(), "::", #name),
                ::core::file!(),
                ::core::line!(),
                ::core::column!(),
                #resource,
            ) #(#values)* #skips #several #parameters #at_call .site();
            #private::inventory::submit! { #private::Registration(&__redlock_SITE) }
            &__redlock_SITE
        }
    }
}

/// Returns the name of the runtime's setter for a parameter.
fn setter(key: Key) -> Ident {
    Ident::new(key.name(), Span::mixed_site())
}

/// Emits a constant value, as the site's setter takes it.
fn constant(key: Key, value: &PlainValue, private: &TokenStream) -> TokenStream {
    let here = Span::mixed_site();
    let variant = |[of, variant]: Variant| {
        let (of, variant) = (Ident::new(of, here), Ident::new(variant, here));
        quote_spanned!(here=> #private::#of::#variant)
    };
    let with = |of: Variant, value: TokenStream| {
        let of = variant(of);
        quote_spanned!(here=> #of(#value))
    };
    match (key.kind(), value) {
        (ValueKind::TimeOr { variant, .. }, PlainValue::Time(time)) => {
            with([variant[0], "For"], duration(*time))
        }
        (ValueKind::TimeOrFraction(of), PlainValue::Time(time)) => {
            with([of, "Time"], duration(*time))
        }
        (ValueKind::TimeOrFraction(of), PlainValue::Fraction(part)) => {
            with([of, "Fraction"], part.to_token_stream())
        }
        (_, PlainValue::Variant(of)) => variant(*of),
        (_, PlainValue::Time(time)) => duration(*time),
        (_, PlainValue::Count(count)) => count.to_token_stream(),
        (_, PlainValue::Fraction(number)) => number.to_token_stream(),
        (_, PlainValue::Flag(flag)) => flag.to_token_stream(),
        (_, PlainValue::Constant(value @ Expr::Array(_))) => quote_spanned!(here=> &#value),
        (ValueKind::Pools, PlainValue::Constant(names)) => {
            let ty = quote_spanned!(here=> &'static [&'static ::core::primitive::str]);
            let there = here.located_at(names.span());
            typed(&ty, quote_spanned!(there=> &#names))
        }
        (_, PlainValue::Constant(text @ Expr::Lit(_)) | PlainValue::Expression(text)) => {
            text.to_token_stream()
        }
        (_, PlainValue::Constant(text)) => {
            let ty = quote_spanned!(here=> &'static ::core::primitive::str);
            typed(&ty, text)
        }
    }
}

/// Emits an expression with its type.
/// rustc then reports a value of another type at the expression, instead of inside the runtime.
fn typed(ty: &TokenStream, value: impl ToTokens) -> TokenStream {
    let here = Span::mixed_site().located_at(value.span());
    quote_spanned!(here=> { let __redlock_value: #ty = #value; __redlock_value })
}

/// Emits a statement that passes the value of an expression to the specification.
fn at_call(key: Key, value: &Expr, private: &TokenStream) -> TokenStream {
    let here = Span::mixed_site().located_at(value.span());
    // The parentheses keep `unused_braces` from reporting a block. Their span leaves out the value, so that
    // errors point at the value itself.
    let time = |ty: TokenStream| quote_spanned!(here=> #private::IntoTime::<#ty>::time((#value)));
    let of_runtime = |name| {
        let name = Ident::new(name, Span::mixed_site());
        time(quote!(#private::#name))
    };
    let value = match key.kind() {
        ValueKind::Time => time(quote!(::core::time::Duration)),
        ValueKind::TimeOr { variant, .. } => of_runtime(variant[0]),
        ValueKind::TimeOrFraction(of) => of_runtime(of),
        ValueKind::Count => typed(&quote!(::core::primitive::u32), value),
        ValueKind::Fraction => typed(&quote!(::core::primitive::f64), value),
        ValueKind::Flag => typed(&quote!(::core::primitive::bool), value),
        // Values of all other kinds are constants.
        _ => value.to_token_stream(),
    };
    let method = setter(key);
    quote_spanned!(Span::mixed_site()=> let __redlock_spec = __redlock_spec.#method(#value);)
}

fn duration(duration: Duration) -> TokenStream {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    match u64::try_from(duration.as_millis()) {
        Ok(millis) if nanos % 1_000_000 == 0 => {
            let millis = Literal::u64_unsuffixed(millis);
            quote_spanned!(Span::mixed_site()=> ::core::time::Duration::from_millis(#millis))
        }
        _ => quote_spanned!(Span::mixed_site()=> ::core::time::Duration::new(#seconds, #nanos)),
    }
}

/// Emits the user's block as a future, which begins with `request` if the body requests the lock.
fn body(
    plan: &LockPlan,
    function: &Function,
    output: &Output,
    request: Option<&TokenStream>,
    private: &TokenStream,
) -> TokenStream {
    let Output { ty, span, .. } = output;
    let captured = plan.captured.iter().map(Captured::item);
    let captured = (!plan.captured.is_empty())
        .then(|| quote_spanned!(Span::mixed_site()=> #private::capture!(#(#captured)*);));
    // Tells rustc the type of `return` in the body, and blames the signature for it.
    let expect_returns = quote_spanned! {*span=>
        if let ::core::option::Option::Some(__redlock_ret) = ::core::option::Option::None::<#ty> {
            #captured
            return __redlock_ret;
        }
    };
    // Call a function for the guard, because clippy would report a plain variable named `_lease`.
    let guard = plan.guard.as_ref().map(|guard| {
        let here = Span::mixed_site().located_at(function.body.span());
        let (ty, get) = if plan.values.is_fenced() {
            (quote_spanned!(here=> Fenced<#private::Lease>), quote_spanned!(here=> fenced_lease))
        } else {
            (quote_spanned!(here=> Lease), quote_spanned!(here=> lease))
        };
        quote_spanned!(here=> let #guard: &#private::#ty = #private::LeaseSlot::#get(__redlock_slot);)
    });
    // The parentheses keep `unused_braces` from reporting a block that was written as a function body. They have
    // the attribute's span, because the span of the block would change that of the block itself.
    let block = &function.body;
    let locked = quote_spanned! {Span::mixed_site()=>
        #expect_returns
        #request
        #guard
        (#block)
    };
    // With the user's span, borrow errors name the captures, and lints check the block.
    let moves = function.kind.moves();
    let capture_mode = moves.then(|| quote_spanned!(block.span()=> move));
    quote_spanned!(block.span()=> async #capture_mode { #locked })
}
