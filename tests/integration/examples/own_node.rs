//! A program with nodes of its own.

use redlock_tests::Service;

use crate::services::LONG;

#[tokio::test]
async fn each_own_node_records_the_lock_and_its_release() {
    let program = Service::build_example("own_node").await;
    let program = Service::spawn(program, [("RUST_BACKTRACE", "1")], "order 42").await;
    assert!(program.wait(LONG).await.success(), "{program}");
    let output = program.output();
    for node in ["a", "b", "c"] {
        let of_node = |line: &&str| line.starts_with(node) && line.contains("order:42");
        let effects = ["Takes", "Undoes"].map(|effect| {
            let mut lines = output.lines().filter(of_node);
            lines.any(|line| line.contains(effect))
        });
        assert_eq!(effects, [true, true], "{node}: {output}");
    }
}
