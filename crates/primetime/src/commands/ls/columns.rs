//! Names in columns, sorted downwards. Pure but for the width of the terminal.

use unicode_width::UnicodeWidthStr;

/// Where nothing is known of the terminal.
const WIDTH: usize = 80;
/// Between columns.
const GAP: usize = 2;

/// What `COLUMNS` says, or the terminal.
pub(super) fn terminal_width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|width| *width > 0);
    told.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))).unwrap_or(WIDTH)
}

/// As many columns as fit.
pub(super) fn columns(names: &[impl AsRef<str>], width: usize) -> String {
    let widths: Vec<usize> = names.iter().map(|name| name.as_ref().width()).collect();
    let mut rows = 1;
    let mut layout = widths_of_columns(&widths, rows);
    // Each column takes a place at least, so that no more rows than names are tried, and few where there are
    // many.
    while layout.len() > 1 && layout.iter().map(|column| column + GAP).sum::<usize>() - GAP > width {
        rows += (rows / 64).max(1);
        layout = widths_of_columns(&widths, rows.min(names.len()));
    }
    let rows = rows.min(names.len());
    let mut text = String::new();
    for row in 0..rows {
        let places: Vec<usize> = (row..names.len()).step_by(rows).collect();
        for (column, place) in places.iter().enumerate() {
            text.push_str(names[*place].as_ref());
            if column + 1 < places.len() {
                let pad = layout[column] - widths[*place] + GAP;
                text.extend(std::iter::repeat_n(' ', pad));
            }
        }
        text.push('\n');
    }
    text
}

fn widths_of_columns(widths: &[usize], rows: usize) -> Vec<usize> {
    widths.chunks(rows.max(1)).map(|column| column.iter().copied().max().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_run_downwards_in_as_few_rows_as_fit() {
        let names = ["a", "bb", "ccc", "dddd", "e"];
        assert_eq!(columns(&names, 80), "a  bb  ccc  dddd  e\n");
        assert_eq!(columns(&names, 12), "a   ccc   e\nbb  dddd\n");
        assert_eq!(columns(&names, 10), "a    dddd\nbb   e\nccc\n");
        assert_eq!(columns(&names, 1), "a\nbb\nccc\ndddd\ne\n");
    }

    #[test]
    fn wide_characters_take_two_places() {
        assert_eq!(columns(&["漢", "b", "c"], 7), "漢  c\nb\n");
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(columns(&[""; 0], 80), "");
    }

    #[test]
    fn many_names_are_laid_out_within_the_width() {
        let names: Vec<_> = (0..100_000).map(|number| format!("file{number:06}")).collect();
        let text = columns(&names, 80);
        assert!(text.lines().all(|line| line.len() <= 80));
        assert_eq!(text.split_whitespace().count(), names.len());
    }
}
