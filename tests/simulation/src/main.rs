//! Runs seeds, as many as one likes.
fn main() {
    let from: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let n: u64 = std::env::args().nth(2).unwrap().parse().unwrap();
    let trace = std::env::args().nth(3).is_some();
    let mut all = redlock_simulation::Coverage::default();
    let t = std::time::Instant::now();
    let mut bad = std::collections::BTreeMap::new();
    for seed in from..from + n {
        let report = redlock_simulation::run(seed, None, trace);
        all += report.coverage;
        if trace {
            for l in &report.trace {
                println!("{l}");
            }
        }
        for v in &report.violations {
            let e = bad
                .entry(v.invariant)
                .or_insert((0, seed, report.settings.profile, v.clone()));
            e.0 += 1;
        }
    }
    println!("{all}\n{:?}", t.elapsed());
    for (k, v) in bad {
        println!("{k:?}: {} runs, first {} {:?} {}", v.0, v.1, v.2, v.3);
    }
}
