//! Other builds of the library next to the present one.

mod builds;

use std::path::Path;
use std::process::{Child, Command};

use redlock_core::node::WIRE_FORMAT;
use redlock_tests::{Nodes, TempDir, wait_until};

/// The program of the present build, with all features.
const PRESENT: &str = env!("CARGO_BIN_EXE_contender");

/// The longest time for which a build contends, in ms. The test kills the build before.
const LONGEST: &str = "600000";

/// The number of times that the lock goes from one build to the other one and back.
const CHANGES: usize = 50;

/// A build that contends for the lock. A drop kills the process.
struct Contender(Child);

impl Contender {
    fn start(program: &Path, inside: &Path, nodes: &Nodes) -> Self {
        let mut command = Command::new(program);
        command.arg(inside).arg(LONGEST).args(nodes.urls());
        Self(command.spawn().expect("the program starts"))
    }

    /// Waits until an attempt of this process has the key on a majority of the nodes.
    async fn until_served(&self, nodes: &Nodes) {
        let process = format!("/{}/", self.0.id());
        let tokens = || [&nodes[0], &nodes[1]].map(|it| it.get("contended").unwrap_or_default());
        let is_served = |[one, other]: &[Vec<u8>; 2]| {
            one == other && String::from_utf8_lossy(one).contains(&process)
        };
        wait_until("a lock of this build", tokens, is_served).await;
    }

    /// True while the process runs. A holder that finds another one inside ends it.
    fn is_running(&mut self) -> bool {
        self.0.try_wait().expect("a child").is_none()
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        // An error means that the process has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the number with which the marker of the first node begins.
async fn marked_format(nodes: &Nodes) -> u32 {
    let marker = || nodes[0].get("redlock:marker");
    let marker = wait_until("a marker", marker, Option::is_some).await;
    let marker = String::from_utf8(marker.unwrap_or_default()).expect("a text");
    let format = marker.split(' ').next().expect("a number");
    format.parse().expect("a number")
}

/// With one wire format both are served at once. With two, the older build goes on, because it came first, and the other
/// one is refused.
#[tokio::test]
async fn an_older_build_and_this_one_exclude_each_other() {
    let older = builds::older();
    let (nodes, folder) = (Nodes::start(3).await, TempDir::new());
    let inside = folder.path().join("inside");
    let mut older = Contender::start(&older, &inside, &nodes);
    older.until_served(&nodes).await;
    let mut present = Contender::start(Path::new(PRESENT), &inside, &nodes);
    if marked_format(&nodes).await == WIRE_FORMAT {
        for _ in 0..CHANGES {
            present.until_served(&nodes).await;
            older.until_served(&nodes).await;
        }
        assert!(present.is_running(), "two holders were inside at once");
    } else {
        wait_until("a refusal", || present.is_running(), |it| !it).await;
        older.until_served(&nodes).await;
    }
    assert!(older.is_running(), "two holders were inside at once");
}

#[test]
fn a_build_without_features_says_what_all_features_say() {
    let texts = [builds::featureless().as_path(), Path::new(PRESENT)].map(|program| {
        let output = Command::new(program).output().expect("the program starts");
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("a text")
    });
    assert!(texts[0].contains("not initialized"), "{}", texts[0]);
    assert_eq!(texts[0], texts[1]);
}
