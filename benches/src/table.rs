//! Text in columns.

use std::fmt;

/// A table whose columns are as wide as their widest cell: the first one to the left, figures to
/// the right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

impl Table {
    /// Returns a table with these headings.
    pub fn new(headings: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut table = Self::default();
        table.row(headings);
        table
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Adds a line under the rows.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
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
        for row in &self.rows {
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                match column {
                    0 => write!(f, "  {cell:<width$}")?,
                    _ => write!(f, "  {cell:>width$}")?,
                }
            }
            writeln!(f)?;
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_to_the_left_and_figures_to_the_right() {
        let mut table = Table::new(["lock", "pairs/s"]);
        table.row(["a–b", "7"]);
        table.note("of two".to_owned());
        assert_eq!(
            table.to_string(),
            "  lock  pairs/s\n  a–b         7\n  of two\n"
        );
    }
}
