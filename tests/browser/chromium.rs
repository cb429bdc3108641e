//! A headless Chromium, spoken to over its debugging pipe.

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use redlock_tests::TempDir;
use serde_json::{Value, json};

/// A browser with one page. It ends with this value, and after two minutes at the latest.
pub(crate) struct Chromium {
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    process: Child,
    _profile: TempDir,
    /// Of the page. Before there is one, commands are for the browser.
    session: Value,
}

impl Chromium {
    pub(crate) fn start() -> Self {
        let program = env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
        let version = Command::new(&program).arg("--version").output();
        assert!(
            version.is_ok_and(|it| it.status.success()),
            "`{program}` does not run; install Chromium (`scripts/test --all` does), or set CHROMIUM to its path"
        );
        let profile = TempDir::new();
        // The browser reads commands from descriptor 3 and answers on 4. It ends when 3 is closed.
        let run = "exec timeout 120 \"$0\" --headless --no-sandbox --no-first-run --disable-dev-shm-usage \
            --hide-scrollbars --remote-debugging-pipe --user-data-dir=\"$1\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", run, &program]).arg(profile.path());
        let piped = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = piped.expect("a shell");
        let from = process.stdout.take().expect("it is piped");
        let mut browser = Self {
            to: process.stdin.take(),
            from: BufReader::new(from),
            process,
            _profile: profile,
            session: Value::Null,
        };
        let page = browser.command("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        browser.session = browser.command("Target.attachToTarget", &attach)["sessionId"].take();
        browser.command("Page.enable", &json!({}));
        browser
    }

    /// Loads a page, and returns when all of it is there.
    pub(crate) fn open(&mut self, url: &str) {
        self.command("Page.navigate", &json!({"url": url}));
        self.until(|message| message["method"] == "Page.loadEventFired");
    }

    /// The value of an expression on the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let mut done = self.command(
            "Runtime.evaluate",
            &json!({"expression": expression, "returnByValue": true}),
        );
        assert_eq!(done["exceptionDetails"], Value::Null);
        done["result"]["value"].take()
    }

    pub(crate) fn command(&mut self, method: &str, params: &Value) -> Value {
        let mut command = json!({"id": 1, "method": method, "params": params});
        if self.session.is_string() {
            command["sessionId"] = self.session.clone();
        }
        let to = self.to.as_mut().expect("it runs");
        write!(to, "{command}\0").expect("a browser that runs");
        // Each command is waited for, so no answer of another comes meanwhile.
        let mut answer = self.until(|message| message["id"].is_number());
        assert_eq!(answer["error"], Value::Null, "{method}");
        answer["result"].take()
    }

    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut message = Vec::new();
            self.from
                .read_until(0, &mut message)
                .expect("a browser that runs");
            assert_eq!(message.pop(), Some(0), "the browser ended");
            let message = serde_json::from_slice(&message).expect("JSON");
            if is_it(&message) {
                return message;
            }
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        self.to = None;
        let _ = self.process.wait();
    }
}
