//! Names whose addresses a test decides.
//!
//! A process looks names up by `getaddrinfo` of its C library. A small preloaded library, `names.c`, replaces that
//! function. It has to be loaded when the process starts, so each test runs in a process of its own. (A mount namespace
//! with another `/etc/hosts` would need rights that a container lacks, and could not make a look-up hang.)

use crate::TempDir;
use crate::preload::build;
use crate::process::Process;
use parking_lot::Mutex;
use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::IpAddr;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

/// Has the directory with the files that `names.c` reads and writes.
const VARIABLE: &str = "REDLOCK_NAMES";

/// The longest time that a test may take.
const LONGEST: Duration = Duration::from_secs(90);

/// The library, built once a process. The failure is stored as text, so that every test shows it.
static LIBRARY: LazyLock<Result<Vec<u8>, String>> =
    LazyLock::new(|| build(include_str!("names.c")));

/// The names of this process that a test decides. All other names are looked up as usual.
pub struct Names {
    dir: PathBuf,
    under_way: File,
    /// The answer for each name.
    told: Mutex<BTreeMap<String, String>>,
}

/// Runs `body`, the whole of a test, in a process where the test decides the addresses of names.
///
/// The process is this program, restricted to this test. The body runs on a runtime like that of `#[tokio::test]`.
pub fn with_names<B: AsyncFnOnce(&Names)>(body: B) {
    if let Some(dir) = std::env::var_os(VARIABLE) {
        let names = Names::of(dir.into());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        return runtime.expect("a runtime").block_on(body(&names));
    }
    let dir = TempDir::new();
    let library = LIBRARY.as_ref().unwrap_or_else(|why| panic!("{why}"));
    for (file, content) in [
        ("names.so", &**library),
        ("hosts", b""),
        ("under_way", &[0; 8]),
    ] {
        fs::write(dir.path().join(file), content).expect("a new directory can be written");
    }
    let program = std::env::current_exe().expect("the path of this program");
    let mut command = Command::new(program);
    command
        .args([test_of::<B>(), "--exact", "--nocapture"])
        .env("LD_PRELOAD", dir.path().join("names.so"))
        .env(VARIABLE, dir.path());
    let process = Process::start(command).expect("this program can be started");
    let ended = process.wait(LONGEST);
    process.kill();
    let output = process.output();
    let ended = ended.unwrap_or_else(|| panic!("it does not end:\n{output}"));
    let is_passed = ended.success() && output.contains("test result: ok. 1 passed");
    assert!(is_passed, "in a process of its own, {ended}:\n{output}");
}

/// The name of the test whose closure this is, without the program's name.
fn test_of<B>() -> &'static str {
    let closure = type_name::<B>();
    let (_, test) = closure.split_once("::").expect("a path");
    test.trim_end_matches("::{{closure}}")
}

impl Names {
    fn of(dir: PathBuf) -> Self {
        let under_way = File::open(dir.join("under_way")).expect("the test's directory");
        let told = Mutex::default();
        Self {
            dir,
            under_way,
            told,
        }
    }

    /// Points `name` at `addresses`, in this order, from the next look-up on. Without an address, the name is unknown.
    pub fn point(&self, name: &str, addresses: impl IntoIterator<Item = IpAddr>) {
        let addresses = addresses.into_iter().map(|it| it.to_string());
        self.tell(name, addresses.collect::<Vec<_>>().join(" "));
    }

    /// Makes look-ups of `name` hang, as if the name server were silent.
    ///
    /// A look-up that has begun to hang never ends, even if the name gets addresses later.
    pub fn hang(&self, name: &str) {
        self.tell(name, "hang".to_owned());
    }

    fn tell(&self, name: &str, answer: String) {
        let mut told = self.told.lock();
        told.insert(name.to_owned(), answer);
        let mut lines = String::new();
        for (name, answer) in &*told {
            let _ = writeln!(lines, "{name} {answer}");
        }
        // Replace the file in one step, because a look-up may read it at any time.
        let (new, hosts) = (self.dir.join("new"), self.dir.join("hosts"));
        let written = fs::write(&new, lines).and_then(|()| fs::rename(&new, hosts));
        written.expect("the test's directory can be written");
    }

    /// Returns the number of look-ups of these names that are under way.
    pub fn under_way(&self) -> u64 {
        let mut bytes = [0; 8];
        let read = self.under_way.read_exact_at(&mut bytes, 0);
        read.expect("the test's directory can be read");
        u64::from_ne_bytes(bytes)
    }
}
