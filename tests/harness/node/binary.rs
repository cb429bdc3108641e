//! Finding the server's binary.

use std::process::{Command, Stdio};
use std::sync::LazyLock;

static FOUND: LazyLock<Result<String, String>> = LazyLock::new(find);

/// Returns the binary to start, or a panic that says how to get one. The failure is stored as text, so that
/// every test of the process shows it, not the first one only.
pub(super) fn redis_server() -> &'static str {
    match &*FOUND {
        Ok(binary) => binary,
        Err(message) => panic!("{message}"),
    }
}

fn find() -> Result<String, String> {
    if let Ok(chosen) = std::env::var("REDIS_SERVER") {
        if runs(&chosen) {
            return Ok(chosen);
        }
        return Err(format!(
            "REDIS_SERVER is `{chosen}`, which does not run; give the path of a redis-server"
        ));
    }
    ["redis-server", "valkey-server"]
        .into_iter()
        .find(|name| runs(name))
        .map(str::to_owned)
        .ok_or_else(|| {
            "these tests run real Redis servers and found no `redis-server`; run `scripts/test`, \
             which installs it, or install it yourself (`apt-get install redis-server`, \
             `dnf install redis`, `apk add redis`, `brew install redis`), or set REDIS_SERVER to \
             its path"
                .to_owned()
        })
}

fn runs(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
