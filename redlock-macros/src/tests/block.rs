//! The expansion of `locked!`. `UPDATE_EXPECT=1` rewrites the snapshot.

use expect_test::expect;

use super::check_block;

#[test]
fn a_block_is_a_future_around_the_users_block() {
    check_block(
        r#"resource = "order:{order.id}", ttl = "10s", guard = lease, async move { send(lease).await }"#,
        &expect![[r#"
            fn example() {
                async move {
                    let __call = Call::new(
                        {
                            static __SITE: Site = Site::new(
                                    || (),
                                    module_path!(),
                                    if line!() == 42 {
                                        "line_42"
                                    } else {
                                        concat!("line_", line!(), "_", 42)
                                    },
                                    file!(),
                                    line!(),
                                    column!(),
                                    "order:{order.id}",
                                )
                                .ttl(Duration::from_millis(10000));
                            submit! {
                                Registration(& __SITE)
                            }
                            &__SITE
                        },
                        {
                            const ORDER: () = ();
                            let () = ORDER;
                            resource(format_args!("order:{arg0}", arg0 = order.id))
                        },
                    );
                    let __held = &Slot::new();
                    let __body = async move {
                        let lease: &Lease = Slot::lease(__held);
                        send(lease).await
                    };
                    let __body = async move { Ok::<_, LockError>(__body.await) };
                    Call::run_with(
                            __call,
                            __held,
                            __body,
                            &Answers {
                                refused: Err,
                                is_success: |_| true,
                            },
                        )
                        .await
                }
            }
        "#]],
    );
}
