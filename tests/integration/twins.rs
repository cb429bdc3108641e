//! Each script does on a server what its twin does over a store: the same keys, arguments and times, drawn at random,
//! are put to both, and answers and keys are compared.
//!
//! The twin runs twice: at the server's time before the call, and at that after it. The server's numbers lie between
//! those of the two runs.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use redis::{Connection, ConnectionLike as _, Value as Reply, cmd, pipe};
use redlock_core::env::Moment;
use redlock_core::node::{Code, Script, Store, Value};
use redlock_core::testing::scripts;
use redlock_simulation::random::Random;
use redlock_tests::RedisNode;

/// Calls of each script.
const CALLS: u64 = 600;

const TOKENS: [&str; 3] = ["web-1/7/aa", "web-2/7/bb", "web-1/7/aa job ü"];

/// Clients that wait, by the ends of their names.
const CLIENTS: [&str; 3] = ["aaaaaaaa00000001", "bbbbbbbb00000002", "cccccccc00000003"];

/// The words for keys that have contents of their own. A key with another word holds any of these.
const KEYS: &str = "lock,counter,run,readers,intent,turn,queue,marker";

/// All keys of a server, a line each: its name, its expiry, as far as a store can tell it, and what it holds.
const DUMP: &str = "
local lines = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local expires = math.min(redis.call('PEXPIRETIME', key), 18446744073709)
  local is_set = redis.call('TYPE', key).ok == 'zset'
  lines[#lines + 1] = string.format('%s ~%.0f ', key, expires) .. (is_set
    and table.concat(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), ' ')
    or '= ' .. redis.call('GET', key))
end
table.sort(lines)
return table.concat(lines, '\\n')";

/// One call of a script, and the state in which it finds the node.
#[derive(Debug)]
struct Call {
    keys: Vec<String>,
    arguments: Vec<String>,
    found: BTreeMap<String, Entry>,
    is_full: bool,
}

/// What a key holds, and until when: in ms since 1970, `None` if it lasts.
#[derive(Debug)]
struct Entry {
    holds: Holds,
    expires: Option<i64>,
}

#[derive(Debug)]
enum Holds {
    Text(String),
    Set(Vec<(i64, &'static str)>),
}

/// Draws a call.
struct Draw<'a> {
    random: &'a mut Random,
    now: Duration,
    /// The caller's.
    token: &'static str,
    /// What most of the locks' keys hold.
    mood: u64,
    /// How many words a word with a `+` is.
    count: usize,
    /// True if the words in brackets come.
    is_open: bool,
    /// Which of two errors a full server answers to nonsense does not matter: it gets none.
    is_full: bool,
}

impl<'a> Draw<'a> {
    fn new(random: &'a mut Random) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            now: now.expect("after 1970"),
            token: random.pick(&TOKENS),
            mood: random.below(8),
            count: random.pick(&[1, 1, 2, 3]),
            is_open: random.below(2) == 0,
            is_full: random.below(10) == 0,
            random,
        }
    }

    fn call(&mut self, script: &Script) -> Call {
        let [keys, arguments] = script.shape.map(|shape| self.words(shape));
        let keys = keys.iter().map(|(word, place)| self.key(word, *place));
        let keys: Vec<_> = keys.collect();
        let arguments = arguments.iter().map(|(word, _)| self.argument(word));
        let arguments = arguments.collect();
        let mut found = BTreeMap::new();
        for key in &keys {
            found.extend(self.entry(key).map(|entry| (key.clone(), entry)));
        }
        Call {
            keys,
            arguments,
            found,
            is_full: self.is_full,
        }
    }

    /// The words of a script's shape, each with its place among those of a `+`.
    fn words(&mut self, shape: &'static str) -> Vec<(&'static str, usize)> {
        let (mut words, mut is_skipped) = (Vec::new(), false);
        for word in shape.split_whitespace() {
            let times = match word {
                "[" | "]" => {
                    is_skipped = word == "[" && !self.is_open;
                    continue;
                }
                _ if is_skipped => 0,
                _ if word.ends_with('+') => self.count,
                _ if word.ends_with('?') => self.random.index(2),
                _ => 1,
            };
            let word = word.trim_end_matches(['+', '?']);
            words.extend((0..times).map(|place| (word, place)));
        }
        words
    }

    /// One of the choices, which have commas between them.
    fn one_of(&mut self, choices: &str) -> String {
        let choices: Vec<_> = choices.split(',').collect();
        self.random.pick(&choices).to_owned()
    }

    fn key(&mut self, word: &str, place: usize) -> String {
        match word {
            "key" => {
                let word = self.one_of(KEYS);
                self.key(&word, place)
            }
            "readers" | "intent" | "turn" => format!("redlock:{word}:{{r}}"),
            "queue" => "redlock:queue:2:{r}".into(),
            _ => format!("{word}:{place}"),
        }
    }

    fn argument(&mut self, word: &str) -> String {
        let is_literal = word.chars().all(char::is_uppercase);
        if !self.is_full && !is_literal && self.random.below(40) == 0 {
            return self.one_of(",x,0,-5");
        }
        match word {
            "token" if self.random.below(6) == 0 => self.random.pick(&TOKENS).into(),
            "token" => self.token.into(),
            "name" => self.one_of("web-1/7/aa,web-3/9/cc,"),
            "client" => self.random.pick(&["", CLIENTS[0], CLIENTS[1]]).into(),
            "last" => self.one_of("last,"),
            "ttl" => self.one_of("30000,3600000"),
            "taken" => self.one_of("0,1,2,3"),
            "count" => self.count.to_string(),
            "life" => self.one_of("4200000,7200000"),
            "advice" => self.one_of("0,600000,600000"),
            "call" => self.one_of("100,2000"),
            "window" => "1000000".into(),
            "hint" => self.micros().to_string(),
            "text" => "web-1/7 2026-11-22T03:00:00.012Z".into(),
            "standing" => self.one_of("streak,waits,waits,waits"),
            "tried" | "back" | "served" => word.into(),
            word if is_literal => word.into(),
            other => panic!("an argument `{other}`: say here what that may be"),
        }
    }

    /// A time in µs: within a hint's window, outside of it, or far away.
    fn micros(&mut self) -> i64 {
        let apart = [500_000, 500_000, 5_000_000, 172_800_000_000];
        let apart = self.random.pick(&apart);
        self.millis(0) * 1000 + self.random.between(-apart, apart)
    }

    fn millis(&self, later: i64) -> i64 {
        i64::try_from(self.now.as_millis()).expect("not so late") + later
    }

    fn entry(&mut self, key: &str) -> Option<Entry> {
        let mut word = key.trim_start_matches("redlock:").split(':').next()?.into();
        if self.random.below(16) == 0 || !KEYS.contains(&word) {
            word = self.one_of(KEYS);
        }
        let text = match &*word {
            "lock" => self.holder(),
            "counter" if self.random.below(2) == 0 => self.micros().to_string(),
            "counter" => self.one_of("-,7,nan,,1e300,9007199254740990,9007199254740991"),
            "readers" => return self.members(&TOKENS),
            "intent" => self.one_of("-,,web-1/7/aa,web-1/7/aa,web-3/9/cc"),
            "queue" => self.queue(),
            "turn" => return self.members(&["due", "web-1/7/aa", "web-3/9/cc"]),
            "marker" => {
                let later = self.one_of("-9000,-9000,9000").parse();
                let until = self.millis(later.expect("a number"));
                self.one_of("-,1 _ run 5 9 new,1 _ run 5 9 new,2 _ run 5 9 new, 1 _,1 _,_ 1,soon")
                    .replace('_', &until.to_string())
            }
            _ => self.one_of("-,record 1,record 2,record 3"),
        };
        (text != "-").then(|| self.kept(Holds::Text(text)))
    }

    fn holder(&mut self) -> String {
        let is_other = self.random.below(5) == 0;
        match if is_other {
            self.random.below(8)
        } else {
            self.mood
        } {
            0 | 1 => "-".into(),
            2 | 3 => self.token.into(),
            4 => self.random.pick(&TOKENS).into(),
            _ => "redlock:readers".into(),
        }
    }

    fn members(&mut self, names: &[&'static str]) -> Option<Entry> {
        let mut entries = Vec::new();
        for name in names {
            let later = self.one_of("-,-,-9000,20000,1800000").parse().ok();
            entries.extend(later.map(|later| (self.millis(later), *name)));
        }
        (!entries.is_empty()).then(|| self.kept(Holds::Set(entries)))
    }

    /// Clients that waited until these times, in any order.
    fn queue(&mut self) -> String {
        let (first, count) = (self.random.index(3), self.random.index(4));
        let line = |place| {
            let later = self.one_of("-20000,-9000,20000,1800000").parse();
            let until = self.millis(later.expect("a number"));
            let call = self.one_of("0100,2000,    ");
            format!("{} {call} {until}\n", CLIENTS[(first + place) % 3])
        };
        (0..count).map(line).collect()
    }

    fn kept(&mut self, holds: Holds) -> Entry {
        let later = self.one_of("-,20000,20000,1800000,1800000,5000000,36000000");
        let later: Option<i64> = later.parse().ok();
        let expires = later.map(|later| self.millis(later) + self.random.between(0, 999));
        Entry { holds, expires }
    }
}

/// What the script's twin answers at `time`, and the keys that it leaves.
fn twin(script: &Script, call: &Call, time: Duration) -> [String; 2] {
    let mut store = Store::default();
    for (name, entry) in &call.found {
        let name = name.as_bytes();
        match &entry.holds {
            Holds::Text(text) => store.set_lasting(name, text.as_bytes()),
            Holds::Set(members) => members.iter().for_each(|(score, member)| {
                let added = store.zadd(name, *score, member.as_bytes());
                added.expect("a sorted set");
            }),
        }
        // The store's clock is at its origin still.
        if let Some(expires) = entry.expires {
            store.pexpire(name, expires);
        }
    }
    store.begin(Moment::from_origin(time), time);
    store.fill(call.is_full);
    let words = [&call.keys, &call.arguments];
    let [keys, arguments] = words.map(|it| it.iter().map(String::as_bytes).collect::<Vec<_>>());
    let answer = script.run(&mut store, &keys, &arguments);
    let lines = store.keys().map(|name| {
        let holds = if let Ok(text) = store.get(name) {
            ["= ", &lossy(text.expect("a key"))].concat()
        } else {
            let members = store.entries(name).expect("a sorted set").iter();
            let mut members: Vec<_> = members.map(|(member, score)| (score, member)).collect();
            members.sort();
            let pairs = members
                .iter()
                .map(|(score, it)| format!("{} {score}", lossy(it)));
            pairs.collect::<Vec<_>>().join(" ")
        };
        let expires = match store.pttl(name) {
            -1 => -1,
            left => store.millis() + left,
        };
        format!("{} ~{expires} {holds}", lossy(name))
    });
    [shown(&answer), lines.collect::<Vec<_>>().join("\n")]
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What the server answers, and the keys that it leaves; and its time before and after.
fn served(
    connection: &mut Connection,
    script: &Script,
    call: &Call,
    is_brief: bool,
) -> ([String; 2], [Duration; 2]) {
    let mut before = pipe();
    before.cmd("FLUSHALL").ignore();
    for (name, entry) in &call.found {
        match &entry.holds {
            Holds::Text(text) => before.cmd("SET").arg(name).arg(text).ignore(),
            Holds::Set(members) => before.cmd("ZADD").arg(name).arg(members).ignore(),
        };
        if let Some(expires) = entry.expires {
            before.cmd("PEXPIREAT").arg(name).arg(expires).ignore();
        }
    }
    let full = ["maxmemory", if call.is_full { "1" } else { "0" }];
    before.cmd("CONFIG").arg("SET").arg(&full).ignore();
    let began = before.cmd("TIME").query(connection);
    let (began,) = began.expect("a state");
    let text = script.text().map(str::to_owned);
    let text = is_brief.then(|| script.in_brief()).or(text);
    let mut arguments = call.arguments.iter();
    let mut command = cmd("EVAL");
    if let Some(text) = text {
        command.arg(text).arg(call.keys.len()).arg(&call.keys);
    } else if let Code::Command(word, options, _) = script.code {
        command = cmd(word);
        command.arg(&call.keys).arg(arguments.next()).arg(options);
    }
    command.arg(arguments.as_slice());
    // Not `query`, which makes an error among the parts the whole answer.
    let answer = connection.req_packed_command(&command.get_packed_command());
    let answer = read(answer.expect("an answer"));
    let mut after = pipe();
    after.cmd("TIME").cmd("CONFIG").arg("SET");
    after.arg(&["maxmemory", "0"]).ignore();
    let left = after.cmd("EVAL").arg(DUMP).arg(0).query(connection);
    let (ended, left): ((u64, u64), String) = left.expect("a dump");
    let time = |(seconds, micros)| Duration::from_secs(seconds) + Duration::from_micros(micros);
    ([shown(&answer), left], [began, ended].map(time))
}

fn read(reply: Reply) -> Value {
    match reply {
        Reply::Nil => Value::Nil,
        Reply::Int(number) => Value::Int(number),
        Reply::BulkString(bytes) => Value::text(bytes),
        Reply::ServerError(error) => Value::error(error.code()),
        Reply::Array(parts) => Value::List(parts.into_iter().map(read).collect()),
        other => panic!("an answer {other:?}"),
    }
}

/// The value, with spaces around numbers. Of an error only its code counts.
fn shown(value: &Value) -> String {
    match value {
        Value::Nil => "nil".into(),
        Value::Int(number) => number.to_string(),
        Value::Text(text) => format!("' {} '", lossy(text)),
        Value::List(parts) => format!(
            "[ {} ]",
            parts.iter().map(shown).collect::<Vec<_>>().join(" ")
        ),
        Value::Error(text) => lossy(text).split(' ').take(1).collect(),
    }
}

/// True if the server has what the twin has, with numbers between those of its two runs. Expiries, which are marked,
/// may be apart by `slack`: a server takes the time twice for a script, for expiries and for `TIME`.
fn is_like(real: &str, one: &str, two: &str, slack: i64) -> bool {
    let [real, one, two] = [real, one, two].map(|it| it.split([' ', '\n']).collect::<Vec<_>>());
    let is_between = |real: &str, one: &str, two: &str| {
        let slack = if real.starts_with('~') { slack } else { 0 };
        let [real, one, two] = [real, one, two].map(|it| it.trim_start_matches('~').parse::<i64>());
        matches!((real, one, two), (Ok(real), Ok(one), Ok(two))
            if (one.min(two) - slack..=one.max(two) + slack).contains(&real))
    };
    let mut words = real.iter().zip(one.iter().zip(&two));
    real.len() == one.len()
        && words.all(|(real, (one, two))| real == one || is_between(real, one, two))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_script_does_what_its_twin_does() {
    let server = RedisNode::start().await;
    let client = redis::Client::open(server.url()).expect("the harness makes good URLs");
    let mut connection = client.get_connection().expect("a server");
    for (seed, script) in (0..).zip(scripts()) {
        let mut random = Random::new(seed);
        for number in 0..CALLS {
            let call = Draw::new(&mut random).call(script);
            let (real, times) = served(&mut connection, script, &call, number % 2 == 0);
            let [one, two] = times.map(|time| twin(script, &call, time));
            let took = times[1].saturating_sub(times[0]).as_millis();
            let slack = 1 + i64::try_from(took).expect("a short time");
            let is_same = |part: usize| is_like(&real[part], &one[part], &two[part], slack);
            assert!(
                is_same(0) && is_same(1),
                "call {number} of {script:?}: {call:#?}\nserver: {real:#?}\n  twin: {one:#?}\n   and: {two:#?}"
            );
        }
    }
}
