//! How tables look: what all of them have in common.

use comfy_table::{
    Attribute, Cell as TableCell, CellAlignment, Color, ContentArrangement, LineStyle, Table, TableStyle,
};

use super::Style;
use crate::statistics::Outcome;

/// The words for an outcome, in its colour.
pub(super) fn verdict(outcome: Outcome, words: &str, style: Style) -> TableCell {
    let cell = TableCell::new(words);
    if style != (Style::Terminal { colours: true }) {
        return cell;
    }
    match outcome {
        Outcome::Faster => cell.fg(Color::Green).add_attribute(Attribute::Bold),
        Outcome::Slower => cell.fg(Color::Red).add_attribute(Attribute::Bold),
        Outcome::Same => cell,
        Outcome::Unclear => cell.add_attribute(Attribute::Dim),
    }
}

/// An empty table in a style.
pub(crate) fn new_table(style: Style) -> Table {
    let mut table = Table::new();
    match style {
        Style::Plain => {
            table.load_style(TableStyle::new()).force_no_tty();
        }
        Style::Terminal { colours } => {
            let rule = LineStyle::none().fill('─').junction('─');
            table
                .load_style(TableStyle::new().header_separator(rule))
                .set_content_arrangement(ContentArrangement::Dynamic);
            if colours {
                table.enforce_styling();
            }
        }
    }
    table
}

/// Puts numbers under each other.
pub(crate) fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The table as lines without spaces at their ends.
pub(crate) fn finished(table: &mut Table) -> String {
    if let Some(first) = table.column_mut(0) {
        first.set_padding((0, 1));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// `text` without control characters: those of a document from elsewhere must not reach a terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}
