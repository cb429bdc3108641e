//! Services and requests to them.

use crate::harness::LONG;
use redlock_tests::Service;

#[tokio::test]
async fn a_service_is_ready_at_its_line_and_ends_on_a_signal() {
    let script = "echo starting; echo \"listening on 127.0.0.1:80 $NAME\"; \
                  trap 'echo bye >&2; exit 3' TERM; echo trapped; \
                  while :; do sleep 0.01; done";
    let args = ["-c", script];
    let service = Service::spawn_with_args("sh", args, [("NAME", "x")], "listening on ").await;
    assert_eq!(service.ready(), "127.0.0.1:80 x");
    assert_eq!(service.addr().port(), 80);
    assert!(service.is_running());
    service.wait_for_line("trapped", LONG).await;
    service.signal(redlock_tests::Signal::TERM);
    assert_eq!(service.wait(LONG).await.code(), Some(3));
    service.wait_for_line("bye", LONG).await;
    assert!(service.output().starts_with("starting\n"));
}

#[tokio::test]
async fn a_service_without_its_line_is_shown_with_what_it_said() {
    let args = ["-c", "echo no such luck; exit 1"];
    let envs = [("NAME", "x")];
    let starting = Service::spawn_with_args("sh", args, envs, "listening");
    let failed = tokio::spawn(starting).await.unwrap_err();
    let message = failed.into_panic().downcast::<String>().unwrap();
    assert!(message.contains("no such luck"), "{message}");
}
