//! Text in columns.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

/// A table whose columns are as wide as their widest cell: the first one to the left, figures to
/// the right. Under it stand the lines that the case has to meet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Table {
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
    /// True if all columns are to the left.
    #[serde(default)]
    is_text: bool,
}

impl Table {
    /// A table with these headings.
    pub fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self {
            rows: vec![headings.map(str::to_owned).to_vec()],
            notes: Vec::new(),
            is_text: false,
        }
    }

    /// The same table, with texts in place of figures.
    #[must_use]
    pub fn of_texts(mut self) -> Self {
        self.is_text = true;
        self
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: &[String; N]) {
        self.rows.push(cells.to_vec());
    }

    /// Adds a line under the rows.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// The same as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            let cells: Vec<_> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
            if index == 0 {
                let column = if self.is_text { "---|" } else { "--:|" };
                let rest = column.repeat(row.len().saturating_sub(1));
                let _ = writeln!(text, "|---|{rest}");
            }
        }
        if !self.notes.is_empty() {
            text += "\n";
        }
        for note in &self.notes {
            let _ = writeln!(text, "* {note}");
        }
        text
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
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["lock", "pairs/s"]);
        table.row(&["a–b".into(), "7".into()]);
        table.note("line: ≥ 8, missed: 7".into());
        table
    }

    #[test]
    fn names_to_the_left_and_figures_to_the_right() {
        let expected =
            "  lock  pairs/s\n  -------------\n  a–b         7\n  line: ≥ 8, missed: 7\n";
        assert_eq!(table().to_string(), expected);
    }

    #[test]
    fn lines_are_a_list_in_markdown() {
        let expected = "| lock | pairs/s |\n|---|--:|\n| a–b | 7 |\n\n* line: ≥ 8, missed: 7\n";
        assert_eq!(table().markdown(), expected);
    }
}
