//! Every binding that a parameter can have names the resource.
#![deny(warnings)]
#![allow(dead_code, clippy::needless_borrowed_reference, clippy::unneeded_wildcard_pattern)]

use redlock_runtime::{LockError, redlock};

struct Point {
    x: u64,
    y: u64,
}
struct Wrapper<T>(T);

#[redlock(resource = "{first}:{last}")]
async fn arrays([first, .., last]: [u64; 4], &[_, ref second]: &[String; 2]) -> Result<String, LockError> {
    Ok(format!("{first}{last}{second}"))
}

#[redlock(resource = "{whole.x}:{x}")]
async fn at_bindings(ref whole @ Point { x, .. }: Point, n @ (1.. | 0): u64) -> Result<u64, LockError> {
    Ok(whole.y + x + n)
}

#[redlock(resource = "{a}:{b}")]
async fn references(&(ref a, b): &(String, u64), &mut ref mut c: &mut String) -> Result<(), LockError> {
    c.push_str(a);
    c.push_str(&b.to_string());
    Ok(())
}

#[redlock(resource = "{x}:{y}:{z}")]
async fn nested(Wrapper((x, Wrapper(Point { x: y, y: z }))): Wrapper<(u64, Wrapper<Point>)>) -> Result<u64, LockError> {
    Ok(x + y + z)
}

#[redlock(resource = "{a}")]
async fn mutable((mut a, mut b): (u64, Vec<u64>), Wrapper(mut c): Wrapper<u64>) -> Result<Vec<u64>, LockError> {
    a += 1;
    c += a;
    b.push(c);
    Ok(b)
}

#[redlock(resource = "nothing")]
async fn nothing(_: u64, (): (), (_, ..): (u64, u64), Wrapper(_): Wrapper<u64>, Point { .. }: Point) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "reborrowed:{n}")]
async fn reborrowed<'a>(text: &'a mut String, n: &mut u64) -> Result<&'a mut str, LockError> {
    let short: &mut String = text;
    short.push('a');
    *n += 1;
    push(text);
    push(&mut *text);
    Ok(text)
}

fn push(text: &mut String) {
    text.push('b');
}

fn main() {}
