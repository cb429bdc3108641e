//! A warning about a transaction that the caller commits, after the lock was released.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{FnArg, Ident, PathArguments, Type};

use crate::function::Function;

/// A statement for each parameter that is `&mut` to a transaction. rustc warns about it at the parameter's
/// type, as it calls a deprecated function: a macro has no warnings of its own on stable Rust.
pub(crate) fn warnings(function: &Function, private: &TokenStream) -> Vec<TokenStream> {
    let types = function
        .signature
        .inputs
        .iter()
        .filter_map(|input| match input {
            FnArg::Typed(typed) => Some(&*typed.ty),
            FnArg::Receiver(_) => None,
        });
    types
        .filter_map(borrowed_transaction)
        .map(|ty| {
            let here = Span::mixed_site().located_at(ty.span());
            quote_spanned!(here=> #private::lock_released_before_the_commit();)
        })
        .collect()
}

/// The name in `&mut Transaction<'_, Postgres>`, `&mut sqlx::PgTransaction<'_>`, `&mut Transaction<'_>`.
///
/// The transactions of databases borrow a connection or are generic over the database. A `Transaction`
/// without arguments is a payment, as often as not.
fn borrowed_transaction(ty: &Type) -> Option<&Ident> {
    let Type::Reference(reference) = ty else {
        return None;
    };
    let Type::Path(path) = &*reference.elem else {
        return None;
    };
    let last = path.path.segments.last()?;
    let is_transaction = reference.mutability.is_some()
        && last.ident.to_string().ends_with("Transaction")
        && matches!(last.arguments, PathArguments::AngleBracketed(_));
    is_transaction.then_some(&last.ident)
}

#[cfg(test)]
mod tests {
    use super::borrowed_transaction;

    #[test]
    fn a_transaction_that_the_caller_keeps_is_known_by_its_type() {
        let is = |ty: &str| borrowed_transaction(&syn::parse_str(ty).expect("a type")).is_some();
        for ty in [
            "&mut Transaction<'_, Postgres>",
            "&mut sqlx::Transaction<'static, sqlx::Sqlite>",
            "&'a mut tokio_postgres::Transaction<'a>",
            "&mut Transaction<Postgres>",
            "&mut sqlx::PgTransaction<'_>",
        ] {
            assert!(is(ty), "{ty}");
        }
        for ty in [
            "Transaction<'_, Postgres>",
            "&Transaction<'_>",
            "&mut Transaction",
            "&mut payments::Transaction",
            "&mut Transactions<'_>",
            "&mut Vec<Transaction<'_>>",
            "&mut impl Executor<'_>",
        ] {
            assert!(!is(ty), "{ty}");
        }
    }
}
