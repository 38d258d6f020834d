//! The table of each setting's use of the machines: processors, waiting for disks, and the disk under the
//! export.

use super::escape::escape;
use super::tables::{cell_key, table};
use crate::results::{Cell, Disk, Resources};
use crate::text::{bytes, number, per_operation, percent};

const NONE: &str = "–";

/// Returns the table; `None` where nothing of it is known.
pub(super) fn resources(cells: &[Cell]) -> Option<String> {
    let row = |(cell, used): (&Cell, Resources)| {
        let there = [used.server_busy, used.server_io_wait, used.server_disk_busy];
        let there = if there.iter().all(Option::is_none) { NONE.to_owned() } else { shares(&there) };
        format!(
            "<tr>{}<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{there}</td>\
             <td class=\"n\">{}</td></tr>\n",
            cell_key(cell),
            shares(&[Some(used.busy), used.io_wait]),
            seconds(&used),
            share(used.disk_busy),
            escape(&disk_work(cell, used.export_disk()))
        )
    };
    let rows: String = cells.iter().filter_map(|cell| Some((cell, cell.resources?))).map(row).collect();
    let heads = [
        "Experiment",
        "Delay",
        "Version",
        "Processors: busy, I/O wait",
        "Clients, server: s of processors",
        "Busiest disk",
        "Server\u{2019}s machine: busy, I/O wait, disk",
        "Export\u{2019}s disk per operation: writes, bytes, flushes, journal commits",
    ];
    (!rows.is_empty()).then(|| table("resources", "What the median run took of the machines", &heads, &rows))
}

/// Writes, bytes, flushes and journal commits for each operation of the median run: "2.70, 11 KiB, 1.00,
/// 0.96".
pub(crate) fn disk_work(cell: &Cell, disk: Option<Disk>) -> String {
    let Some(disk) = disk.filter(|_| cell.operations > 0) else { return NONE.to_owned() };
    let each = |count: u64| count as f64 / cell.operations as f64;
    let known =
        |count: Option<u64>| count.map_or_else(|| NONE.to_owned(), |count| per_operation(each(count)));
    let work = [
        per_operation(each(disk.writes)),
        bytes(each(disk.written_bytes)),
        known(disk.flushes),
        known(disk.journal_commits),
    ];
    let whose = if disk.is_of_export { "" } else { " (all disks)" };
    format!("{}{whose}", work.join(", "))
}

fn seconds(used: &Resources) -> String {
    let server = used.server_seconds.map_or_else(|| NONE.to_owned(), number);
    format!("{}, {server}", number(used.client_seconds))
}

fn shares(shares: &[Option<f64>]) -> String {
    shares.iter().map(|one| share(*one)).collect::<Vec<_>>().join(", ")
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| NONE.to_owned(), percent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn disk_counts_stand_for_each_operation() {
        let cell = Cell { operations: 100, ..samples::results().cells.remove(0) };
        let disk = Disk {
            is_of_export: true,
            writes: 270,
            written_bytes: 409_600,
            flushes: None,
            journal_commits: Some(96),
        };
        assert_eq!(disk_work(&cell, Some(disk)), "2.70, 4.10 KB, –, 0.96");
        let all = Disk { is_of_export: false, ..disk };
        assert!(disk_work(&cell, Some(all)).ends_with("(all disks)"));
        assert_eq!(disk_work(&Cell { operations: 0, ..cell.clone() }, Some(disk)), "–");
        assert_eq!(disk_work(&cell, None), "–");
    }

    #[test]
    fn cells_without_resources_have_no_row() {
        let mut cells = samples::results().cells;
        let rows =
            |cells: &[Cell]| resources(cells).map(|table| table.matches("<tr><th scope=\"row\"").count());
        assert_eq!(rows(&cells), Some(cells.len()));
        for cell in &mut cells[1..] {
            cell.resources = None;
        }
        assert_eq!(rows(&cells), Some(1));
        assert_eq!(rows(&cells[1..]), None);
    }
}
