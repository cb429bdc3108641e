//! Several calls made by one.

use crate::kinds::words::{integer, number, word};
use crate::node::script::{Code, Script};
use crate::node::store::Store;
use crate::node::value::Value;

/// The longest value of another holder that a refusal names, in bytes.
const LONGEST: usize = 301;

/// Takes locks on one key each, and then releases locks on one key each.
pub(crate) static MANY: Script = Script::new("many", Code::Loaded(include_str!("many.lua")), many)
    .shaped("lock+", "taken token+ ttl+");

fn many(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let count = arguments.first().and_then(|text| number(text));
    let count = usize::try_from(count.unwrap_or(0)).unwrap_or(0);
    let (acquired, released) = keys.split_at(count.min(keys.len()));
    let mut answers = Vec::new();
    for (place, key) in acquired.iter().enumerate() {
        let token = word(arguments, place + 1);
        let ttl = || integer(arguments, keys.len() + place + 1);
        let answer = match token.and_then(|token| store.set_nx(key, token, ttl()?)) {
            Ok(true) => Value::Int(1),
            Ok(false) => match store.get(key) {
                Ok(held) => {
                    let held = held.unwrap_or_default();
                    Value::text(&held[..held.len().min(LONGEST)])
                }
                Err(error) => error,
            },
            Err(error) => error,
        };
        answers.push(answer);
    }
    // All are read before one is deleted.
    let held: Vec<_> = released
        .iter()
        .map(|key| Ok(store.get(key)?.map(Box::from)))
        .collect();
    for (place, (key, held)) in released.iter().zip(held).enumerate() {
        let token = arguments.get(acquired.len() + place + 1).copied();
        answers.push(Value::Int(match held {
            Ok::<Option<Box<[u8]>>, Value>(None) => -1,
            Ok(Some(held)) if Some(&*held) == token => {
                store.del(key);
                1
            }
            Ok(Some(_)) | Err(_) => 0,
        }));
    }
    if answers.iter().all(|answer| *answer == Value::Int(1)) {
        return Ok(Value::Int(1));
    }
    Ok(Value::List(answers))
}
