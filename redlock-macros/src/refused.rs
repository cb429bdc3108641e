//! What is left of a function whose attribute was refused: itself, so that its callers and an
//! editor see no second error.

use proc_macro2::{Delimiter, Group, Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};

use crate::args::{Args, Key};
use crate::check::{guard, runtime};
use crate::errors::Errors;
use crate::function::Function;

/// The function with a lease under the name of the attribute's `guard`, which its body may mention;
/// `None` where there is nothing to add.
//
// Input:
//     #[redlock(resource = "order:{id}", ttl = 0, guard = lease)]
//     async fn charge(id: u64) -> Result<Receipt, AppError> { send(id, lease).await }
//
// Output, beside the complaint:
//     async fn charge(id: u64) -> Result<Receipt, AppError> {
//         let lease: &Lease = None.unwrap();
//         { send(id, lease).await }
//     }
pub(crate) fn with_guard(args: &Args, function: &Function) -> Option<TokenStream> {
    // What is wrong with these two is complained about already.
    let mut ignored = Errors::default();
    let guard = guard(args.get(Key::Guard)?, &function.parameters(), &mut ignored)?;
    let runtime = runtime(args.get(Key::Crate), &mut ignored);
    let body = &function.body;
    let block = quote_spanned! {Span::mixed_site()=>
        let #guard: &#runtime::__private::Lease =
            ::core::option::Option::unwrap(::core::option::Option::None);
        #body
    };
    let inner_attributes = function.inner_attributes.clone();
    let parts = [inner_attributes, function.shape.surround(&block)];
    let mut new = Group::new(Delimiter::Brace, parts.into_iter().collect());
    new.set_span(function.braces);
    let mut item = function.header.clone();
    new.to_tokens(&mut item);
    Some(item)
}
