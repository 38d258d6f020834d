//! `primetime ls`: what is in directories, as ls(1) shows it.

mod columns;
mod details;
mod long;
mod recursive;
mod row;

use std::io::ErrorKind;
use std::sync::Arc;

use clap::Args;
use client::{Attributes, Url};

use crate::failure::Failure;
use crate::remote::{Common, Output, Session, Spot, Work, remote_path, run};
use columns::columns;
use long::Long;
pub(crate) use row::{Entry, json};

/// The most entries that are sorted, and of a tree the most that are listed: they are held in memory, each
/// in at most 2 KiB besides the target of a link.
const SORTED_MAX: usize = 2_000_000;
/// Rows that are laid out together where the list is not sorted.
const ROWS_UNSORTED: usize = 1024;

/// The arguments of `ls`.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  primetime ls nfs://fileserver/export
  primetime ls -lh nfs://fileserver/export/results?version=3
  primetime ls -U --json nfs://fileserver/export/mail | jq -r .name

Names are sorted by their bytes, and shown as they are; on a terminal, control characters are escaped.
Exit codes: 0 good, 1 something could not be listed, 3 wrong usage, or the server cannot be reached,
4 a server lists names that no file can have, which were left out."
)]
pub(crate) struct Arguments {
    /// Directories or files, nfs://HOST:PORT/PATH?OPTIONS
    #[arg(value_name = "URL", required = true, value_parser = remote_path::url)]
    urls: Vec<Url>,
    /// Show mode, links, owner, group, size, time and the target of symbolic links
    #[arg(short)]
    long: bool,
    /// Show names that begin with a dot too
    #[arg(short, long)]
    all: bool,
    /// One name a line, as it is anyway where the output is no terminal
    #[arg(short = '1')]
    one: bool,
    /// Names in columns, as it is anyway on a terminal
    #[arg(short = 'C')]
    columns: bool,
    /// List what is in the directories below too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Sizes in powers of 1024
    #[arg(short = 'h', long)]
    human_readable: bool,
    /// Show owners and groups as numbers
    #[arg(short = 'n', long)]
    numeric_uid_gid: bool,
    /// Show directories themselves, not what is in them
    #[arg(short, long)]
    directory: bool,
    /// Do not sort: the entries are shown as they come, and a directory of any size takes little memory
    #[arg(short = 'U')]
    unsorted: bool,
    /// Show each entry as a JSON object in a line of its own
    #[arg(long, conflicts_with_all = ["long", "columns", "one"])]
    json: bool,
    #[command(flatten)]
    common: Common,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Runs `primetime ls`.
pub(crate) fn ls(arguments: &Arguments) -> Result<(), Failure> {
    run(&arguments.common, async |session| {
        let mut listing = Listing::new(&session, arguments);
        listing.all().await?;
        listing.output.flush()
    })
}

/// A run of `ls`.
struct Listing<'a> {
    session: &'a Session,
    arguments: &'a Arguments,
    output: Output,
    long: Long,
    width: usize,
    /// Something was shown before.
    begun: bool,
}

impl<'a> Listing<'a> {
    fn new(session: &'a Session, arguments: &'a Arguments) -> Self {
        Self {
            session,
            arguments,
            output: Output::new(),
            long: Long::new(arguments.human_readable, arguments.numeric_uid_gid),
            width: columns::terminal_width(),
            begun: false,
        }
    }

    /// What is no directory comes first.
    async fn all(&mut self) -> Work {
        let (mut others, mut directories) = (Vec::new(), Vec::new());
        for url in &self.arguments.urls {
            let spot = self.session.spot(url).await?;
            match self.look_at(&spot).await {
                Ok(attributes) if attributes.is_directory() && !self.arguments.directory => {
                    directories.push(spot);
                }
                Ok(attributes) => others.push((spot, attributes)),
                Err(error) => self.session.failed("list", url, &error),
            }
        }
        self.show_given(others).await?;
        let headed = self.arguments.urls.len() > 1 || self.arguments.recursive;
        for spot in directories {
            match self.arguments.recursive {
                true => self.show_tree(&spot).await?,
                false => self.show_directory(&spot, headed).await?,
            }
        }
        Ok(())
    }

    /// A symbolic link that was given is followed, unless it is to be shown itself.
    async fn look_at(&self, spot: &Spot) -> client::Result<Attributes> {
        if self.arguments.long || self.arguments.directory {
            return spot.client.symlink_metadata(&spot.path).await;
        }
        match spot.client.metadata(&spot.path).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                spot.client.symlink_metadata(&spot.path).await
            }
            found => found,
        }
    }

    /// Objects that were given, under the addresses that they were given by.
    async fn show_given(&mut self, given: Vec<(Spot, Attributes)>) -> Work {
        let mut entries = Vec::with_capacity(given.len());
        for (spot, attributes) in given {
            let name = spot.url.to_string().into_bytes().into();
            let mut entry = Entry::given(name, spot.url.clone(), attributes, None);
            if self.wants_details() && attributes.kind == client::FileType::Symlink {
                match spot.client.read_link(&spot.path).await {
                    Ok(target) => entry.target = Some(target),
                    Err(error) => self.session.failed("read the link", &spot.url, &error),
                }
            }
            entries.push(entry);
        }
        if !self.arguments.unsorted {
            entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        }
        self.begun |= !entries.is_empty();
        self.show(&entries)
    }

    async fn show_directory(&mut self, spot: &Spot, headed: bool) -> Work {
        let mut entries = match spot.client.read_dir(&spot.path).await {
            Ok(entries) => entries,
            Err(error) => {
                self.session.failed("list", &spot.url, &error);
                return Ok(());
            }
        };
        self.head(spot, headed)?;
        let directory = Arc::new(spot.url.clone());
        let mut rows = Vec::new();
        loop {
            match entries.next_entry().await {
                Ok(Some(entry)) if self.is_hidden(&entry.name) => {}
                Ok(Some(_)) if rows.len() >= SORTED_MAX => {
                    let error = client::Error::Usage(
                        "it has more than 2,000,000 entries, and no more are sorted; give -U to list all",
                    );
                    self.session.failed("list", &spot.url, &error);
                    break;
                }
                Ok(Some(entry)) => rows.push(Entry::of(&directory, entry)),
                Ok(None) => break,
                Err(error) => {
                    self.session.failed("list", &spot.url, &error);
                    break;
                }
            }
            if self.arguments.unsorted && rows.len() >= ROWS_UNSORTED {
                self.complete(spot, &mut rows).await;
                self.show(&rows)?;
                rows.clear();
            }
        }
        self.show_all(spot, rows).await
    }

    /// All of a directory, or what is left of it.
    async fn show_all(&mut self, spot: &Spot, mut rows: Vec<Entry>) -> Work {
        self.complete(spot, &mut rows).await;
        if !self.arguments.unsorted {
            rows.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            if self.arguments.long {
                let total = self.long.total(&rows);
                self.output.line(&total)?;
            }
        }
        self.show(&rows)
    }

    fn head(&mut self, spot: &Spot, headed: bool) -> Work {
        if headed && !self.arguments.json {
            let between = if self.begun { "\n" } else { "" };
            self.output.line(&format!("{between}{}:", spot.url))?;
        }
        self.begun = true;
        Ok(())
    }

    fn is_hidden(&self, name: &[u8]) -> bool {
        !self.arguments.all && name.starts_with(b".")
    }

    fn wants_details(&self) -> bool {
        self.arguments.long || self.arguments.json
    }

    fn show(&mut self, rows: &[Entry]) -> Work {
        let arguments = self.arguments;
        if arguments.json {
            return rows.iter().try_for_each(|row| {
                let line = json(row)?;
                self.output.line(&line)
            });
        }
        if arguments.long {
            let lines = self.long.lines(rows, self.output.is_terminal());
            return lines.iter().try_for_each(|line| {
                self.output.write(line)?;
                self.output.write(b"\n")
            });
        }
        if (self.output.is_terminal() || arguments.columns) && !arguments.one {
            let names: Vec<_> = rows.iter().map(|row| crate::remote::text::escaped(&row.name)).collect();
            let text = columns(&names, self.width);
            return self.output.write(text.as_bytes());
        }
        rows.iter().try_for_each(|row| {
            let shown = row.shown(self.output.is_terminal());
            self.output.write(&shown)?;
            self.output.write(b"\n")
        })
    }
}
