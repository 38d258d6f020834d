//! `primetime ctl`: looks at a running server, and tells it what to do.

mod rows;

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use server_shell::control::find_sockets;
use server_shell::control::protocol::{self, Answer, Command, Request, VERSION, read_answer};

use crate::failure::Failure;
use rows::Listed;

/// The longest line that is read, in bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// How long the server may take for the next line.
const PATIENCE: Duration = Duration::from_secs(60);
/// Rows of a table that are laid out together; each table of a longer list has a head of its own.
const TABLE_ROWS_MAX: usize = 10_000;

/// The arguments of `ctl`.
#[derive(Debug, Args)]
#[command(after_help = "\
Only the server's own user and root may give commands.

Exit codes: 0 good, 1 the server could not do it, 3 no server is found or the usage is wrong.")]
pub(crate) struct Arguments {
    /// The socket of the server; without it the only server of this user that runs here is asked
    #[arg(long, value_name = "PATH", env = "PRIMETIME_SOCKET", global = true)]
    socket: Option<PathBuf>,
    /// Print a JSON object for each row
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    ask: Ask,
}

#[derive(Debug, Subcommand)]
enum Ask {
    /// How the server is
    Status,
    /// NFSv4 clients, their leases and how much they hold
    Clients,
    /// Sessions of NFSv4.1 clients, and their slots
    Sessions,
    /// NFSv4 opens and NLM share reservations
    Opens,
    /// Locked ranges, of NFSv4 and NLM
    Locks,
    /// Delegations
    Delegations,
    /// NFSv3 mounts, as clients have told
    Mounts,
    /// What is exported, to whom
    Exports,
    /// Read the configuration again; a bad one is refused, and everything stays as it was
    Reload,
    /// End a client with its sessions, and give away what it held; it may come back as a new one
    Expire {
        /// Its number, as `ctl clients` shows it
        client: String,
    },
    /// Take away everything that is held of a file: opens, locks, delegations
    Revoke {
        /// Its path as clients see it, its number as lists show it, or its handle in hexadecimal digits
        file: String,
    },
}

/// Asks, and prints what is answered.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = socket(arguments.socket.as_deref())?;
    let print = Print { path: &path, json: arguments.json };
    match &arguments.ask {
        Ask::Status => print.one::<protocol::Status>(Command::Status),
        Ask::Clients => print.all::<protocol::Client>(Command::Clients),
        Ask::Sessions => print.all::<protocol::Session>(Command::Sessions),
        Ask::Opens => print.all::<protocol::Open>(Command::Opens),
        Ask::Locks => print.all::<protocol::Lock>(Command::Locks),
        Ask::Delegations => print.all::<protocol::Delegation>(Command::Delegations),
        Ask::Mounts => print.all::<protocol::Mount>(Command::Mounts),
        Ask::Exports => print.all::<protocol::Export>(Command::Exports),
        Ask::Reload => print.one::<protocol::Reloaded>(Command::Reload),
        Ask::Expire { client } => print.one::<protocol::Expired>(Command::Expire { client: client.clone() }),
        Ask::Revoke { file } => print.one::<protocol::Revoked>(Command::Revoke { file: file.clone() }),
    }
}

fn socket(given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = given {
        return Ok(path.to_owned());
    }
    let mut found = find_sockets();
    match found.len() {
        0 => Err(Failure::set_up("no running server is found; start one, or name its socket with --socket")),
        1 => Ok(found.remove(0)),
        _ => {
            let names: Vec<_> = found.iter().map(|path| path.display().to_string()).collect();
            Err(Failure::set_up(format_args!(
                "several servers run here; name one with --socket: {}",
                names.join(", ")
            )))
        }
    }
}

struct Print<'a> {
    path: &'a Path,
    json: bool,
}

impl Print<'_> {
    /// A list as tables.
    fn all<R: Listed>(&self, command: Command) -> Result<(), Failure> {
        let mut cells: Vec<Vec<String>> = Vec::new();
        self.rows(command, |row: R| {
            cells.push(row.cells());
            if cells.len() >= TABLE_ROWS_MAX { print_table(R::HEAD, &mut cells) } else { Ok(()) }
        })?;
        if self.json { Ok(()) } else { print_table(R::HEAD, &mut cells) }
    }

    /// A single row, a line for each of its values.
    fn one<R: Listed>(&self, command: Command) -> Result<(), Failure> {
        self.rows(command, |row: R| {
            let mut lines: Vec<_> = R::HEAD
                .iter()
                .zip(row.cells())
                .map(|(name, value)| vec![(*name).to_owned(), value])
                .collect();
            print_table(&[], &mut lines)
        })
    }

    fn rows<R: Listed>(
        &self,
        command: Command,
        mut each: impl FnMut(R) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut lines = BufReader::new(self.ask(command)?);
        loop {
            match self.answer(&mut lines)? {
                Answer::Row(row) if self.json => print_lines(&format!("{row}\n"))?,
                Answer::Row(row) => {
                    let row = serde_json::from_value(row);
                    each(row.map_err(|error| self.misunderstood(&error.to_string()))?)?;
                }
                Answer::End { .. } => return Ok(()),
                Answer::Error(sentence) => return Err(Failure::refused(sentence)),
            }
        }
    }

    fn ask(&self, command: Command) -> Result<UnixStream, Failure> {
        let unreachable = |error: std::io::Error| {
            let mend = match error.kind() {
                ErrorKind::PermissionDenied => "ask as the server's user or as root",
                _ => "name the socket of a running server with --socket",
            };
            Failure::set_up(format_args!("cannot ask the server at {}: {error}; {mend}", self.path.display()))
        };
        let mut stream = UnixStream::connect(self.path).map_err(unreachable)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(unreachable)?;
        let request = Request { version: VERSION, command };
        // Every request is of a kind that JSON has.
        let mut line = serde_json::to_vec(&request).unwrap_or_default();
        line.push(b'\n');
        // Who is not let in finds the connection closed; reading tells.
        let _ = stream.write_all(&line);
        Ok(stream)
    }

    fn answer(&self, lines: &mut BufReader<UnixStream>) -> Result<Answer, Failure> {
        let mut line = String::new();
        let read = lines.take(LINE_BYTES_MAX).read_line(&mut line);
        match read {
            Ok(_) if line.ends_with('\n') => read_answer(&line).map_err(|error| self.misunderstood(&error)),
            Ok(_) => Err(self.closed()),
            // It was closed with the command unread.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Err(self.closed()),
            Err(error) => Err(Failure::set_up(format_args!(
                "the server at {} does not answer: {error}; see whether it runs",
                self.path.display()
            ))),
        }
    }

    fn closed(&self) -> Failure {
        Failure::set_up(format_args!(
            "the server at {} has closed the connection; it takes commands of its own user and of root only, \
             and eight at a time",
            self.path.display()
        ))
    }

    fn misunderstood(&self, error: &str) -> Failure {
        Failure::set_up(format_args!(
            "{error}; use the `primetime` that the server at {} was started with",
            self.path.display()
        ))
    }
}

fn print_table(head: &[&str], cells: &mut Vec<Vec<String>>) -> Result<(), Failure> {
    let mut table = Table::new();
    table.load_style(NOTHING);
    if !head.is_empty() {
        table.set_header(head.to_vec());
    }
    for row in cells.drain(..) {
        table.add_row(row);
    }
    let text: String = table.lines().map(|line| format!("{}\n", line.trim())).collect();
    print_lines(&text)
}

fn print_lines(text: &str) -> Result<(), Failure> {
    match std::io::stdout().write_all(text.as_bytes()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        written => written.map_err(|error| Failure::set_up(format_args!("cannot print the answer: {error}"))),
    }
}
