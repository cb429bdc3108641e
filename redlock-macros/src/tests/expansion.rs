//! The expansion as readable text. `UPDATE_EXPECT=1` rewrites the snapshots.

use expect_test::expect;

use super::{check, check_in_full};

#[test]
fn every_literal_parameter() {
    check_in_full(
        r#"resource = "order:{id}", ttl = 60_000, pools = ["a", "b", "c"], retry_count = 3,
           retry_delay = "1500us", clock_drift_factor = 0.02, min_validity = 0.66, max_hold = "1h",
           once_per = "90m", counts = "every", permits = 1, fencing = true, on_lost = "continue",
           guard = lease, name = "charge""#,
        "/// Charges.
         pub async fn charge(id: u64) -> Result<Receipt, AppError> { send(id, lease).await }",
        &expect![[r#"
            /// Charges.
            pub async fn charge(id: u64) -> Result<Receipt, AppError> {
                let __call = ::redlock_runtime::__private::Call::new(
                    {
                        static __SITE: ::redlock_runtime::__private::Site = ::redlock_runtime::__private::Site::new(
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
                                ::redlock_runtime::__private::Renewal::For(
                                    ::core::time::Duration::from_millis(3600000),
                                ),
                            )
                            .once_per(::core::time::Duration::from_millis(5400000))
                            .counts(::redlock_runtime::__private::Counts::Every)
                            .permits(1u32)
                            .fencing(true)
                            .on_lost(::redlock_runtime::__private::OnLost::Continue)
                            .name("charge");
                        ::redlock_runtime::__private::inventory::submit! {
                            ::redlock_runtime::__private::Registration(& __SITE)
                        }
                        &__SITE
                    },
                    ::core::format_args!("order:{id}"),
                );
                let __held = &::redlock_runtime::__private::Slot::new();
                let __body = async move {
                    ::redlock_runtime::__private::capture!(id);
                    if let ::core::option::Option::Some(__ret) = ::core::option::Option::None::<
                        Result<Receipt, AppError>,
                    > {
                        return __ret;
                    }
                    let lease: &::redlock_runtime::__private::Lease = ::redlock_runtime::__private::Slot::lease(
                        __held,
                    );
                    ({ send(id, lease).await })
                };
                let __value = ::redlock_runtime::__private::Call::run_with(
                    __call,
                    __held,
                    __body,
                    &::redlock_runtime::__private::Answers {
                        refused: <Result<
                            Receipt,
                            AppError,
                        > as ::redlock_runtime::__private::FromLockError>::from_lock_error,
                        is_success: <Result<
                            Receipt,
                            AppError,
                        > as ::redlock_runtime::__private::FromLockError>::is_success,
                    },
                );
                return __value.await;
            }
        "#]],
    );
}

#[test]
fn only_what_is_given_is_written() {
    check(
        r#"resource = "nightly""#,
        "async fn nightly() { #![allow(unused)] let x = 1; }",
        &expect![[r#"
            async fn nightly() {
                #![allow(unused)]
                let __call = Call::new(
                    {
                        static __SITE: Site = Site::new(
                            concat!(module_path!(), "::", "nightly"),
                            file!(),
                            line!(),
                            column!(),
                            "nightly",
                        );
                        submit! {
                            Registration(& __SITE)
                        }
                        &__SITE
                    },
                    format_args!("nightly"),
                );
                let __body = async move {
                    if let Some(__ret) = None::<()> {
                        return __ret;
                    }
                    ({
                        let x = 1;
                    })
                };
                let __value = Call::run(
                    __call,
                    __body,
                    &Answers {
                        refused: <() as FromLockErrorOrSkips>::from_lock_error,
                        is_success: <() as FromLockErrorOrSkips>::is_success,
                    },
                );
                return __value.await;
            }
        "#]],
    );
}

#[test]
fn a_call_that_may_be_skipped() {
    check(
        r#"resource = "sweep", wait = "5s", if_locked = "skip""#,
        "async fn sweep() -> Option<u32> { Some(1) }",
        &expect![[r#"
            async fn sweep() -> Option<u32> {
                let __call = Call::new(
                    {
                        static __SITE: Site = Site::new(
                                concat!(module_path!(), "::", "sweep"),
                                file!(),
                                line!(),
                                column!(),
                                "sweep",
                            )
                            .wait(Wait::For(Duration::from_millis(5000)))
                            .skip_if_locked();
                        submit! {
                            Registration(& __SITE)
                        }
                        &__SITE
                    },
                    format_args!("sweep"),
                );
                let __body = async move {
                    if let Some(__ret) = None::<Option<u32>> {
                        return __ret;
                    }
                    ({ Some(1) })
                };
                let __value = Call::run(
                    __call,
                    __body,
                    &Answers {
                        refused: <Option<u32> as FromSkip>::from_refusal,
                        is_success: <Option<u32> as FromSkip>::is_success,
                    },
                );
                return __value.await;
            }
        "#]],
    );
}

#[test]
fn expressions_are_evaluated_at_the_call() {
    check(
        "resource = format!(\"{}\", key), ttl = TTL, retry_count = n + 1, crate = crate::locks",
        "async fn f(key: &str, n: u32) -> Result<impl Sized, E> { Ok(key.len()) }",
        &expect![[r#"
            async fn f(key: &str, n: u32) -> Result<impl Sized, E> {
                let __call = crate::locks::__private::Call::new(
                    {
                        static __SITE: crate::locks::__private::Site = crate::locks::__private::Site::new(
                                concat!(module_path!(), "::", "f"),
                                file!(),
                                line!(),
                                column!(),
                                "format ! (\"{}\" , key)",
                            )
                            .parameters(&["key", "n"])
                            .at_call(&["ttl", "retry_count"]);
                        crate::locks::__private::inventory::submit! {
                            crate ::locks::__private::Registration(& __SITE)
                        }
                        &__SITE
                    },
                    format!("{}", key),
                );
                let __call = __call.ttl(crate::locks::__private::Time::<Duration>::time((TTL)));
                let __call = __call
                    .retry_count({
                        let __value: u32 = n + 1;
                        __value
                    });
                let __body = async move {
                    if let Some(__ret) = None::<Result<_, E>> {
                        return __ret;
                    }
                    ({ Ok(key.len()) })
                };
                let __value = crate::locks::__private::Call::run(
                    __call,
                    __body,
                    &crate::locks::__private::Answers {
                        refused: |__error| Err(
                            <E as convert::From<crate::locks::__private::LockError>>::from(__error),
                        ),
                        is_success: is_ok,
                    },
                );
                return __value.await;
            }
        "#]],
    );
}

#[test]
fn dotted_placeholders_become_arguments_in_each_of_several_templates() {
    check(
        r#"resource = ["{self.id:08}/{order.lines.0}/{self.id}/{tenant}", "tenant:{tenant}"]"#,
        "async fn f(&self, order: Order, tenant: u8) -> Result<(), AppError> { Ok(()) }",
        &expect![[r#"
            async fn f(&self, order: Order, tenant: u8) -> Result<(), AppError> {
                let __call = Call::new(
                    {
                        static __SITE: Site = Site::new(
                                concat!(module_path!(), "::", "f"),
                                file!(),
                                line!(),
                                column!(),
                                "{self.id:08}/{order.lines.0}/{self.id}/{tenant} + tenant:{tenant}",
                            )
                            .several_names();
                        submit! {
                            Registration(& __SITE)
                        }
                        &__SITE
                    },
                    [
                        format!(
                            "{arg0:08}/{arg1}/{arg0}/{tenant}", arg0 = self.id, arg1 = order.lines.0
                        ),
                        format!("tenant:{tenant}"),
                    ],
                );
                let __body = async move {
                    capture!(tenant order);
                    if let Some(__ret) = None::<Result<(), AppError>> {
                        return __ret;
                    }
                    ({ Ok(()) })
                };
                let __value = Call::run(
                    __call,
                    __body,
                    &Answers {
                        refused: <Result<(), AppError> as FromLockError>::from_lock_error,
                        is_success: <Result<(), AppError> as FromLockError>::is_success,
                    },
                );
                return __value.await;
            }
        "#]],
    );
}

#[test]
fn a_boxed_future_runs_locked_inside_its_block() {
    check(
        r#"resource = "job:{id}", guard = lease"#,
        "fn run<'a>(&'a self, id: u64) -> Pin<Box<dyn Future<Output = Result<u8, AppError>> + Send + 'a>> {
             Box::pin(async move { let __self = self; Ok(1) })
         }",
        &expect![[r#"
            fn run<'a>(
                &'a self,
                id: u64,
            ) -> Pin<Box<dyn Future<Output = Result<u8, AppError>> + Send + 'a>> {
                Box::pin(async move {
                    let __call = Call::new(
                        {
                            static __SITE: Site = Site::new(
                                concat!(module_path!(), "::", "run"),
                                file!(),
                                line!(),
                                column!(),
                                "job:{id}",
                            );
                            submit! {
                                Registration(& __SITE)
                            }
                            &__SITE
                        },
                        format_args!("job:{id}"),
                    );
                    let __held = &Slot::new();
                    let __body = async move {
                        if let Some(__ret) = None::<Result<u8, AppError>> {
                            return __ret;
                        }
                        let lease: &Lease = Slot::lease(__held);
                        ({
                            let __self = self;
                            Ok(1)
                        })
                    };
                    let __value = Call::run_with(
                        __call,
                        __held,
                        __body,
                        &Answers {
                            refused: <Result<u8, AppError> as FromLockError>::from_lock_error,
                            is_success: <Result<u8, AppError> as FromLockError>::is_success,
                        },
                    );
                    return __value.await;
                })
            }
        "#]],
    );
}
