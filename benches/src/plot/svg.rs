//! A chart as text of an SVG file.
//!
//! It has a background of its own, and colours for light and dark: embedded in a page, it follows
//! the reader's system and cannot see the page's own theme.

use std::fmt;

use super::scale::Axis;
use super::{Bar, Chart, Role, Set};
use crate::stats::brief;

const WIDTH: f64 = 760.0;
/// Where the names end and the bars begin.
const LEFT: f64 = 170.0;
/// What is left for the labels behind the longest bar.
const RIGHT: f64 = 130.0;
const TOP: f64 = 62.0;
const BAR: f64 = 16.0;
const ROW: f64 = 22.0;
/// Between two sets, with room for the name of the second.
const GAP: f64 = 34.0;
const BOTTOM: f64 = 30.0;

/// Letters have a rim in the colour of the background, as some stand on lines.
const STYLE: &str = "\
    text{fill:#1f2328;font:12px system-ui,sans-serif;stroke:#ffffff;stroke-width:3px;\
    stroke-linejoin:round;paint-order:stroke}.page{fill:#ffffff;stroke:#d0d7de}\
    .title{font-size:15px;font-weight:600}.set{font-weight:600}.quiet{fill:#59636e}\
    .grid{stroke:#d8dee4}.whisker{stroke:#1f2328}.line{stroke:#cf222e;stroke-dasharray:4 3}\
    .aim{fill:#cf222e}.ours{fill:#1f6feb}.peer{fill:#9aa4af}.limit{fill:#57ab5a}\
    @media(prefers-color-scheme:dark){\
    text{fill:#e6edf3;stroke:#0d1117}.page{fill:#0d1117;stroke:#30363d}.quiet{fill:#9198a1}\
    .grid{stroke:#262c36}.whisker{stroke:#e6edf3}.line{stroke:#ff7b72}.aim{fill:#ff7b72}\
    .ours{fill:#388bfd}.peer{fill:#6e7681}.limit{fill:#3fb950}}";

impl fmt::Display for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heights = self.sets.iter().map(height).sum::<f64>();
        let height = TOP + heights + BOTTOM;
        let title = escaped(&self.title);
        writeln!(
            f,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" aria-label="{title}">"#
        )?;
        writeln!(f, "<title>{title}</title>\n<style>{STYLE}</style>")?;
        writeln!(
            f,
            r#"<rect class="page" x="0.5" y="0.5" width="{}" height="{}" rx="6"/>"#,
            WIDTH - 1.0,
            height - 1.0
        )?;
        text(f, 16.0, 26.0, "title", "start", &self.title)?;
        text(f, 16.0, 45.0, "quiet", "start", &self.axis)?;

        let axis = Axis::around(self.scale, self.values());
        for tick in axis.ticks() {
            let x = x(&axis, tick);
            vertical(f, "grid", x, TOP, height - BOTTOM)?;
            text(f, x, height - 12.0, "quiet", "middle", &plain(tick))?;
        }
        let mut top = TOP;
        for set in &self.sets {
            draw_set(f, &axis, top, set)?;
            top += self::height(set);
        }
        writeln!(f, "</svg>")
    }
}

impl Chart {
    fn values(&self) -> impl Iterator<Item = f64> {
        self.sets.iter().flat_map(|set| {
            let spreads = set.bars.iter().filter_map(|bar| bar.spread);
            let line = set.line.iter().map(|(value, _)| *value);
            spreads
                .flat_map(|spread| [spread.min, spread.max])
                .chain(line)
        })
    }
}

fn height(set: &Set) -> f64 {
    let rows = u32::try_from(set.bars.len()).unwrap_or(u32::MAX);
    GAP + ROW * f64::from(rows)
}

fn draw_set(f: &mut fmt::Formatter<'_>, axis: &Axis, top: f64, set: &Set) -> fmt::Result {
    text(f, 16.0, top + 20.0, "set", "start", &set.name)?;
    let mut y = top + GAP - 6.0;
    for bar in &set.bars {
        draw_bar(f, axis, y, bar)?;
        y += ROW;
    }
    if let Some((value, says)) = &set.line {
        let x = x(axis, *value);
        vertical(f, "line", x, top + GAP - 10.0, y)?;
        text(f, x, top + 20.0, "aim", "middle", says)?;
    }
    Ok(())
}

fn draw_bar(f: &mut fmt::Formatter<'_>, axis: &Axis, y: f64, bar: &Bar) -> fmt::Result {
    let (middle, base) = (y + BAR / 2.0, y + BAR - 4.0);
    text(f, LEFT - 8.0, base, "", "end", &bar.who)?;
    let Some(spread) = bar.spread else {
        return text(f, LEFT + 6.0, base, "quiet", "start", &bar.label);
    };
    let class = match bar.role {
        Role::Ours => "ours",
        Role::Peer => "peer",
        Role::Limit => "limit",
    };
    let [from, to] = [spread.min, spread.max].map(|value| x(axis, value));
    // One that is too short to be seen should not look as if it were missing.
    let width = (x(axis, spread.median) - LEFT).max(1.0);
    writeln!(
        f,
        r#"<rect class="{class}" x="{LEFT}" y="{y:.1}" width="{width:.1}" height="{BAR}"/>"#
    )?;
    writeln!(
        f,
        r#"<path class="whisker" d="M{from:.1} {middle:.1}H{to:.1}M{from:.1} {:.1}v6M{to:.1} {:.1}v6"/>"#,
        middle - 3.0,
        middle - 3.0
    )?;
    text(f, to.max(LEFT + width) + 6.0, base, "", "start", &bar.label)
}

fn x(axis: &Axis, value: f64) -> f64 {
    LEFT + axis.place(value) * (WIDTH - LEFT - RIGHT)
}

fn vertical(f: &mut fmt::Formatter<'_>, class: &str, x: f64, from: f64, to: f64) -> fmt::Result {
    writeln!(
        f,
        r#"<path class="{class}" d="M{x:.1} {from:.1}V{to:.1}"/>"#
    )
}

fn text(
    f: &mut fmt::Formatter<'_>,
    x: f64,
    y: f64,
    class: &str,
    anchor: &str,
    text: &str,
) -> fmt::Result {
    let text = escaped(text);
    writeln!(
        f,
        r#"<text x="{x:.1}" y="{y:.1}" class="{class}" text-anchor="{anchor}">{text}</text>"#
    )
}

/// A tick: no more digits than it takes.
fn plain(tick: f64) -> String {
    let text = brief(tick);
    let (digits, suffix) = text.split_once(' ').unwrap_or((&text, ""));
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    format!("{digits} {suffix}").trim_end().to_owned()
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Scale;
    use crate::stats::Spread;

    fn chart() -> Chart {
        let bar = |who: &str, role, figure: Option<f64>| Bar {
            who: who.to_owned(),
            role,
            spread: figure.map(|figure| Spread::of([figure * 0.9, figure, figure * 1.1])),
            label: "a < b".to_owned(),
        };
        let mut chart = Chart::new("one & other", "pairs", Scale::Linear);
        chart.sets.push(Set {
            name: "1 caller".to_owned(),
            bars: vec![
                bar("redlock", Role::Ours, Some(2.0)),
                bar("none", Role::Peer, None),
            ],
            line: Some((1.4, "≥ 1.4".to_owned())),
        });
        chart
    }

    #[test]
    fn markup_in_names_is_escaped_and_every_element_ends() {
        let svg = chart().to_string();
        assert!(svg.contains("one &amp; other") && svg.contains("a &lt; b"));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
        assert!(svg.contains("prefers-color-scheme:dark"));
    }

    #[test]
    fn ticks_have_no_trailing_zeros() {
        let shown = [0.0, 0.5, 2.0, 10.0, 100.0, 20_000.0].map(plain);
        assert_eq!(shown, ["0", "0.5", "2", "10", "100", "20 k"]);
    }
}
