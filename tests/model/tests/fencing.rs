use redlock_model::fencing::*;
use redlock_model::search::explore;
#[test] fn two() { let r=explore(&Fencing::<3,2>::rules(), 50_000_000); println!("two {r} {:b}", r.landmarks); }
#[test] fn two_lit() { let r=explore(&Fencing::<3,2>{messages:Messages::Literal,..Fencing::rules()}, 50_000_000); println!("two lit {r} {:b}", r.landmarks); }
#[test] fn two5() { let r=explore(&Fencing::<5,2>::rules(), 50_000_000); println!("two of 5 {r} {:b}", r.landmarks); }
#[test] fn three() { let r=explore(&Fencing::<3,3>::rules(), 30_000_000); println!("three {r} {:b}", r.landmarks); }
#[test] fn hints() { let r=explore(&Fencing::<3,2>{hints:Hints::Any(&[0,2,4]),..Fencing::rules()}, 50_000_000); println!("hints {r} {:b}", r.landmarks); }
