//! Text in columns.

use std::fmt;

/// A table whose columns are as wide as their widest cell: the first one to the left, figures to
/// the right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self {
            rows: vec![headings.map(str::to_owned).to_vec()],
        }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: &[String; N]) {
        self.rows.push(cells.to_vec());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (index, row) in self.rows.iter().enumerate() {
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                match column {
                    0 => write!(f, "  {cell:<width$}")?,
                    _ => write!(f, "  {cell:>width$}")?,
                }
            }
            writeln!(f)?;
            if index == 0 {
                let rule = widths.iter().map(|width| width + 2).sum::<usize>();
                writeln!(f, "  {}", "-".repeat(rule.saturating_sub(2)))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_to_the_left_and_figures_to_the_right() {
        let mut table = Table::new(["lock", "pairs/s"]);
        table.row(&["a–b".into(), "7".into()]);
        let expected = "  lock  pairs/s\n  -------------\n  a–b         7\n";
        assert_eq!(table.to_string(), expected);
    }
}
