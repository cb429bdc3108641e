//! The `#[redlock]` attribute. Use it through `redlock-runtime`, which re-exports it.

mod args;
mod captured;
mod check;
mod errors;
mod expand;
mod function;
mod output;
mod plan;
mod refused;
mod resource;
mod shape;
mod suggest;
mod template;
#[cfg(test)]
mod tests;
mod value;

use proc_macro2::TokenStream;

use crate::args::Args;
use crate::errors::Errors;
use crate::function::Function;

/// Runs an async function under a distributed lock.
///
/// The lock is acquired from a majority of the pools before the body starts, and released on
/// every way out of it: its end, `return`, `?`, a panic, and a caller who drops the future. The
/// body runs under the lock or not at all.
///
/// ```ignore
/// use redlock_runtime::{LockError, redlock};
///
/// #[redlock(resource = "order:{order_id}", ttl = 60_000, pools = ["a", "b", "c"])]
/// async fn charge(order_id: u64) -> Result<Receipt, LockError> {
///     send_to_the_bank(order_id).await
/// }
/// ```
///
/// # Parameters
///
/// All are `key = value`, in any order. Only `resource` is required; one that is left out takes
/// the registry's default for it, and then the one given below. Literals are checked when the
/// function is compiled; expressions are evaluated at each call, before the body, where they see
/// the function's parameters.
///
/// ## `resource`: what to lock
///
/// A template with the names of parameters in it. It is the key in Redis, verbatim, after the
/// configured prefix. `{name}` and `{name:spec}` are as in [`format!`]; fields are reached by
/// `{order.id}`, `{self.id}` and `{pair.0}`; `{{` is a brace.
///
/// ```ignore
/// #[redlock(resource = "order:{tenant}:{order.id:08}")]
/// async fn ship(tenant: &str, order: Order) -> Result<(), LockError> { order.ship(tenant).await }
/// ```
///
/// Names that a pattern binds are names like any other, so axum's extractors can be taken apart
/// in the signature:
///
/// ```ignore
/// #[redlock(resource = "order:{id}")]
/// async fn handler(State(app): State<App>, Path(id): Path<u64>) -> Result<Json<Order>, LockError> {
///     Ok(Json(app.charge(id).await))
/// }
/// ```
///
/// An array of templates locks all of them or none, in one round trip:
///
/// ```ignore
/// #[redlock(resource = ["account:{from}", "account:{to}"])]
/// async fn transfer(from: u64, to: u64) -> Result<(), LockError> { book(from, to).await }
/// ```
///
/// Where a template does not do, any expression that is `Into<Resource>` does. It may borrow a
/// parameter; what it moves is gone from the body.
///
/// ```ignore
/// #[redlock(resource = cart.lock_key())]
/// async fn check_out(cart: Cart) -> Result<(), LockError> { cart.check_out().await }
/// ```
///
/// A resource has 1 to 1024 bytes and does not begin with `redlock:`, which is the library's own.
///
/// ## `ttl`: how long until the nodes free the lock by themselves
///
/// Milliseconds, a string such as `"60s"` or `"1m30s"`, or an expression of type
/// [`Duration`](core::time::Duration). At least 10 ms, and more than its own drift. Default:
/// 60 000 ms.
///
/// ```ignore
/// #[redlock(resource = "report", ttl = "5m")]
/// #[redlock(resource = "report", ttl = settings.report_ttl)]
/// ```
///
/// ## `pools`: where to lock
///
/// The names of configured pools, each one independent node with one vote. Default: the
/// registry's default pools.
///
/// ```ignore
/// #[redlock(resource = "order:{id}", pools = ["a", "b", "c"])]
/// ```
///
/// ## `retry_count`: how often to try again
///
/// Retries after the first attempt: an integer, or an expression of type `u32`. Default: 2.
///
/// ```ignore
/// #[redlock(resource = "order:{id}", retry_count = 0)]
/// ```
///
/// ## `retry_delay`: how long to wait in between
///
/// Given as `ttl` is; each wait is a random part of it, from half to all. Default: 200 ms.
///
/// ```ignore
/// #[redlock(resource = "order:{id}", retry_count = 20, retry_delay = 50)]
/// ```
///
/// ## `clock_drift_factor`: what to allow for clocks that run at different speeds
///
/// A number of at least 0 and less than 1, or an expression of type `f64`: `ttl` × factor + 2 ms
/// are taken off the time that the lock counts as held. Default: 0.01.
///
/// ```ignore
/// #[redlock(resource = "order:{id}", clock_drift_factor = 0.02)]
/// ```
///
/// ## `on_lost`: what happens to the body when the lock is lost or ends
///
/// `"cancel"`, the default, drops the body and returns the error. `"continue"` lets it go on,
/// without a lock.
///
/// ```ignore
/// #[redlock(resource = "cache:{key}", on_lost = "continue")]
/// ```
///
/// ## `on_cancel`: what happens to the lock when the body is cut off
///
/// A body is cut off when its lock is lost, when the process shuts down, when the caller drops the
/// future, and by a panic. `"release"`, the default, frees the lock at once. `"expire"` leaves it
/// to its ttl, because what the body has sent may still be at work.
///
/// ```ignore
/// #[redlock(resource = "transfer:{id}", on_cancel = "expire")]
/// ```
///
/// ## `min_validity`: no lock that is nearly over
///
/// An acquisition that leaves less than this is given up and retried: given as `ttl` is, or as a
/// part of the ttl from 0 up to 1. Default: 0.
///
/// ```ignore
/// #[redlock(resource = "order:{id}", ttl = "10s", min_validity = 0.66)]
/// ```
///
/// ## `max_hold`: renew the lock while the body runs
///
/// Given as `ttl` is, or `"unlimited"`. The lock is extended each time that a third of its
/// validity has passed, until it has been held for so long. Without it the ttl is final.
///
/// ```ignore
/// #[redlock(resource = "report:{day}", ttl = "30s", max_hold = "1h")]
/// ```
///
/// ## `fencing`: a number for the store to check
///
/// `true` takes a fencing token with the lock: a number that is higher than that of every earlier
/// holder. `fencing_token()` of the lease has it. A store that refuses a write with a lower number
/// than it has seen is safe from a holder that was paused past its ttl. Default: `false`.
///
/// ```ignore
/// #[redlock(resource = "account:{id}", fencing = true, guard = lease)]
/// async fn withdraw(id: u64, store: &Store) -> Result<(), LockError> {
///     store.write_if_newest(id, lease.fencing_token()).await
/// }
/// ```
///
/// ## `guard`: a name for the lease
///
/// Binds `&Lease` in the body, to ask it for the resource or the validity that is left, or to
/// extend it.
///
/// ```ignore
/// #[redlock(resource = "import:{file}", ttl = "30s", guard = lease)]
/// async fn import(file: &str) -> Result<(), LockError> {
///     for part in parts(file) {
///         lease.extend(Duration::from_secs(30)).await?;
///         load(part).await;
///     }
///     Ok(())
/// }
/// ```
///
/// ## `name`: the function's name in configuration, logs and metrics
///
/// A string. Default: `module_path::function`.
///
/// ```ignore
/// #[redlock(resource = "order:{id}", name = "charge")]
/// ```
///
/// ## `crate`: where the runtime is
///
/// An absolute path to `redlock_runtime`, for crates that re-export it. Default:
/// `::redlock_runtime`.
///
/// ```ignore
/// #[redlock(resource = "order:{id}", crate = ::my_framework::redlock_runtime)]
/// ```
///
/// # What it can stand on
///
/// Any `async fn` with a body: free functions, methods with every kind of receiver, methods of
/// traits, generic ones; under `#[async_trait]`; on functions that return a boxed future or
/// an `impl Future` made by an `async` block at their end, and by no `return` before it. `Send` is
/// inferred: from the body and the arguments, and from what the function returns, as that is kept
/// while the lock is released.
///
/// Two attributes on one function are two locks, one inside the other: the lower is taken first.
///
/// Beside other attributes, keep it *above* those that make the function synchronous, such as
/// `#[tokio::main]` and `#[tokio::test]`. Above `#[instrument]` the span covers the body alone,
/// below it also the waiting for the lock.
///
/// Under `#[async_trait]` a parameter that is a pattern has no names yet when the resource is
/// made; give the parameter a name and take it apart in the body.
///
/// # What the function returns
///
/// Anything that a lock error fits in, which the trait `FromLockError` decides: any
/// `Result<T, E>` with `E: From<LockError>`, and the types that implement the trait themselves.
///
/// # Cancellation
///
/// Dropping the function's future drops the body first and releases the lock then. A panic in the
/// body goes on to the caller once the body's values are dropped and the release is on its way.
///
/// The arguments go with the body on every way out, the last parameter first, and so before the
/// lock. Later than the lock go only those that have no name (`_`), that are named and not used
/// (a leading underscore is a use), and that an expression in the attribute mentions and the body
/// does not move.
#[proc_macro_attribute]
pub fn redlock(
    attribute: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    transform(attribute.into(), item.into()).into()
}

/// Parse, check, expand. Whatever is wrong, the function stays there, so that its callers and the
/// IDE see no second error.
fn transform(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let args = Args::parse(attribute, &mut errors);
    let function = Function::parse(item.clone(), &mut errors);
    let plan = check::check(&args, function.as_ref(), &mut errors);
    match (errors.into_compile_errors(), plan, function) {
        (None, Some(plan), Some(function)) => expand::expand(&plan, &function),
        (complaints, _, function) => {
            let (guard, runtime) = check::of_a_refused(&args, function.as_ref());
            let mut output = complaints.unwrap_or_default();
            output.extend(refused::stand_in(item, guard.as_ref(), &runtime));
            output
        }
    }
}
