//! The `#[redlock]` attribute, for use through `redlock-runtime`.
//!
//! `redlock-runtime` re-exports the attribute and provides the functions that the expansion calls. The two crates
//! always have exactly equal versions.
//!
//! ```text
//! use redlock_runtime::{LockError, redlock};
//!
//! #[redlock(resource = "order:{order_id}", ttl = "30s")]
//! async fn charge(order_id: u64) -> Result<String, LockError> {
//!     Ok(format!("order {order_id} charged"))
//! }
//! ```
//!
//! [`macro@redlock`] is the reference: a section for each parameter, with an example.
//!
//! # How it works
//! The macro parses, checks and expands the attribute. One build reports all mistakes in an attribute, each at its
//! own token. The function keeps its signature. Its new body formats the resource's name, asks the runtime for
//! the lock, and polls the old body under the lock. The expansion also registers the function with its parameters,
//! so that the runtime checks them against the configuration when the program starts.

mod argument_capture;
mod async_kind;
mod check;
mod duration_rules;
mod errors;
mod expand;
mod fallback_item;
mod function;
mod item_check;
mod parameters;
mod parse;
mod placeholder_names;
mod plan;
mod resource;
mod return_type;
mod template;
#[cfg(test)]
mod tests;
mod value;

use proc_macro2::TokenStream;

use crate::errors::Errors;
use crate::function::Function;
use crate::parse::Args;

// `redlock-tests` runs the examples, because they need `redlock-runtime`, which depends on this crate.
#[cfg_attr(not(doctest), doc = include_str!("reference.md"))]
#[proc_macro_attribute]
pub fn redlock(
    attribute: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    transform(attribute.into(), item.into()).into()
}

/// Parses, checks and expands the attribute.
/// The output contains the function even after an error, so that its callers and the IDE report no second error.
fn transform(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let args = Args::parse(attribute, &mut errors);
    let function = Function::parse(item.clone(), &mut errors);
    let plan = check::check(&args, function.as_ref(), &mut errors);
    match (errors.into_compile_errors(), plan, function) {
        (None, Some(plan), Some(function)) => expand::expand(&plan, &function),
        (complaints, _, function) => {
            // `check` has already reported the errors of these two names.
            let again = &mut Errors::default();
            let (guard, runtime) = check::names_of_the_expansion(&args, function.as_ref(), again);
            let mut output = complaints.unwrap_or_default();
            output.extend(fallback_item::fallback_item(item, guard.as_ref(), &runtime));
            output
        }
    }
}
