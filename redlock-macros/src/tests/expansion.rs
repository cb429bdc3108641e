//! The expansion as readable text. `UPDATE_EXPECT=1` rewrites the snapshot.

use expect_test::{Expect, expect};

use crate::transform;

/// Compares the expansion of `item`.
fn check(attribute: &str, item: &str, expected: &Expect) {
    let [attribute, item] = [attribute, item].map(|text| text.parse().expect(text));
    let output = transform(attribute, item);
    let file = syn::parse2(output).expect("the output is a file");
    expected.assert_eq(&prettyplease::unparse(&file));
}

#[test]
fn every_literal_parameter() {
    check(
        r#"resource = "order:{id}", ttl = 60_000, pools = ["a", "b", "c"], retry_count = 3,
           retry_delay = "1500us", clock_drift_factor = 0.02, min_validity = 0.66, max_hold = "1h",
           once_per = "90m", remember = "every_run", permits = 1, fencing = true, on_lost = "continue",
           guard = lease, name = "charge""#,
        "/// Charges.
         pub async fn charge(id: u64) -> Result<Receipt, AppError> { send(id, lease).await }",
        &expect![[r#"
            /// Charges.
            pub async fn charge(id: u64) -> Result<Receipt, AppError> {
                let __redlock_spec = ::redlock_runtime::__private::LockSpec::formatted(
                    {
                        static __redlock_SITE: ::redlock_runtime::__private::Site = ::redlock_runtime::__private::SiteBuilder::new(
                                ::core::concat!(::core::module_path!(), "::", "charge"),
                                ::core::file!(),
                                ::core::line!(),
                                ::core::column!(),
                                "order:{id}",
                            )
                            .ttl(::core::time::Duration::from_millis(60000))
                            .pools(&["a", "b", "c"])
                            .retry_count(3u32)
                            .retry_delay(::core::time::Duration::new(0u64, 1500000u32))
                            .clock_drift_factor(0.02f64)
                            .min_validity(
                                ::redlock_runtime::__private::MinValidity::Fraction(0.66f64),
                            )
                            .max_hold(
                                ::redlock_runtime::__private::MaxHold::For(
                                    ::core::time::Duration::from_millis(3600000),
                                ),
                            )
                            .once_per(::core::time::Duration::from_millis(5400000))
                            .remember(::redlock_runtime::__private::Remember::EveryRun)
                            .permits(1u32)
                            .fencing(true)
                            .on_lost(::redlock_runtime::__private::OnLost::Continue)
                            .name("charge")
                            .site();
                        ::redlock_runtime::__private::inventory::submit! {
                            ::redlock_runtime::__private::Registration(& __redlock_SITE)
                        }
                        &__redlock_SITE
                    },
                    ::core::format_args!("order:{id}"),
                );
                let __redlock_slot = &::redlock_runtime::__private::LeaseSlot::new();
                let __redlock_body = async move {
                    if let ::core::option::Option::Some(__redlock_ret) = ::core::option::Option::None::<
                        Result<Receipt, AppError>,
                    > {
                        ::redlock_runtime::__private::capture!(id);
                        return __redlock_ret;
                    }
                    let lease: &::redlock_runtime::__private::Fenced<
                        ::redlock_runtime::__private::Lease,
                    > = ::redlock_runtime::__private::LeaseSlot::fenced_lease(__redlock_slot);
                    ({ send(id, lease).await })
                };
                let __redlock_value = ::redlock_runtime::__private::run_call(
                    ::redlock_runtime::__private::CallState::with_slot(
                        ::redlock_runtime::__private::LockSpec::begin(__redlock_spec),
                        __redlock_slot,
                    ),
                    __redlock_body,
                    ::redlock_runtime::__private::ReturnRules {
                        from_error: <Result<
                            Receipt,
                            AppError,
                        > as ::redlock_runtime::__private::FromLockError>::from_lock_error,
                        is_success: <Result<
                            Receipt,
                            AppError,
                        > as ::redlock_runtime::__private::FromLockError>::is_success,
                    },
                );
                return __redlock_value.await;
            }
        "#]],
    );
}
