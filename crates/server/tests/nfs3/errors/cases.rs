//! What is asked of the server.

use bytes::Bytes;
use proto::nfs3::*;
use server::conflicts::Conflict;

use super::good::{list, list_plus, procedures};
use super::kinds::KINDS;
use super::lab::{Lab, Ledger, Options, place, write};

const USER: u32 = 1000;

/// Back ends that meet every error in every call.
pub fn faults(ledger: &Ledger) {
    for procedure in procedures() {
        for kind in KINDS {
            for skip in 0.. {
                // REMOVE removes no directories, so that none is found to be full.
                let full = matches!((kind.error)(), vfs::Error::NotEmpty);
                if procedure == Procedure::Remove && full {
                    break;
                }
                let mut lab = Lab::new(ledger);
                lab.tells = false;
                lab.trigger.arm(kind, skip);
                lab.try_call(procedure, 0, &lab.good(procedure)).unwrap();
                if !lab.trigger.has_fired() {
                    break;
                }
            }
        }
    }
}

/// Every procedure on every kind of object, on what is gone, and on what never was; by root, and by a user
/// who may nothing.
pub fn objects(ledger: &Ledger) {
    for procedure in procedures() {
        let lab = Lab::new(ledger);
        let strange = FileHandle::new(&[0x55; 28]).unwrap();
        let status = |object| lab.try_call(procedure, 0, &lab.on(procedure, object)).unwrap().0;
        assert_eq!(status(lab.gone), Status::Stale, "{procedure}");
        assert_eq!(status(strange), Status::BadHandle, "{procedure}");
        assert_eq!(status(FileHandle::new(&[]).unwrap()), Status::BadHandle, "{procedure}");
        for number in 0..6 {
            let lab = Lab::new(ledger);
            let all = [lab.root, lab.file, lab.directory, lab.link, lab.pipe, lab.elsewhere];
            lab.try_call(procedure, 0, &lab.on(procedure, all[number])).unwrap();
            let lab = Lab::new(ledger);
            close(&lab);
            lab.try_call(procedure, USER, &lab.on(procedure, all[number])).unwrap();
        }
    }
}

/// Takes all permissions away from all but root.
fn close(lab: &Lab<'_>) {
    for object in [lab.file, lab.directory, lab.pipe, lab.root] {
        let attributes = SetAttributes { mode: Some(0), ..SetAttributes::default() };
        lab.expect(&SetAttrArgs { object, attributes, guard: None }, Status::Ok);
    }
}

/// Servers that are read-only, have room for nothing, are for others, or where somebody holds what is asked
/// for.
pub fn other_servers(ledger: &Ledger) {
    let all: [fn() -> Options; 6] = [
        || Options { read_only: true, ..Options::default() },
        || Options { closed: true, ..Options::default() },
        || Options { objects_max: Some(9), ..Options::default() },
        || Options { bytes_max: Some(4 * 4096 + 200), ..Options::default() },
        || Options { conflict: Some(Conflict::Later), ..Options::default() },
        || Options { conflict: Some(Conflict::Denied), ..Options::default() },
    ];
    for procedure in procedures() {
        for options in all {
            let lab = Lab::with(ledger, &options());
            lab.try_call(procedure, 0, &lab.good(procedure)).unwrap();
        }
    }
    let lab = Lab::with(ledger, &Options { bytes_max: Some(1 << 16), ..Options::default() });
    // The first takes all the room there is.
    let data = Bytes::from(vec![7; 1 << 17]);
    let fill = WriteArgs { count: 1 << 17, data, ..write(lab.file, b"") };
    lab.expect(&fill, Status::Ok);
    lab.expect(&WriteArgs { offset: 1 << 20, ..fill }, Status::NoSpace);
}

/// RFC 1813 §3.2, and what each procedure says of names.
pub fn names(ledger: &Ledger) {
    let lab = Lab::new(ledger);
    let attributes = SetAttributes::default();
    let long = "n".repeat(256);
    let target = Bytes::from_static(b"f");
    for (name, make, leave) in [
        ("", Status::AccessDenied, Status::AccessDenied),
        ("a/b", Status::AccessDenied, Status::AccessDenied),
        (&long, Status::NameTooLong, Status::NameTooLong),
        (".", Status::Exists, Status::Invalid),
        ("..", Status::Exists, Status::Invalid),
        ("f", Status::Exists, Status::Ok),
    ] {
        let place = || place(lab.root, name);
        lab.expect(&CreateArgs { place: place(), how: CreateHow::Guarded(attributes) }, make);
        lab.expect(&MkDirArgs { place: place(), attributes }, make);
        lab.expect(&SymlinkArgs { place: place(), attributes, target: target.clone() }, make);
        lab.expect(&MkNodArgs { place: place(), what: MkNodData::Fifo(attributes) }, make);
        lab.expect(&LinkArgs { file: lab.file, link: place() }, make);
        let free = super::lab::place(lab.root, "free");
        let rename = RenameArgs { from: place(), to: free.clone() };
        lab.expect(&rename, leave);
        let back = RenameArgs { from: free, to: place() };
        lab.expect(&back, leave);
        if leave != Status::Ok {
            let status = if leave == Status::Invalid { Status::AccessDenied } else { leave };
            lab.expect(&RemoveArgs { object: place() }, status);
        }
    }
    lab.expect(&RmDirArgs { object: place(lab.root, ".") }, Status::Invalid);
    lab.expect(&RmDirArgs { object: place(lab.root, "..") }, Status::Exists);
    lab.expect(&RmDirArgs { object: place(lab.root, &long) }, Status::NameTooLong);
    lab.expect(&LookupArgs { what: place(lab.root, &long) }, Status::NameTooLong);
    lab.expect(&LookupArgs { what: place(lab.root, "") }, Status::AccessDenied);
    lab.expect(&LookupArgs { what: place(lab.root, "none") }, Status::NoEntry);
    lab.expect(&RemoveArgs { object: place(lab.root, "none") }, Status::NoEntry);
    lab.expect(&RemoveArgs { object: place(lab.root, "d") }, Status::IsDirectory);
    lab.expect(&RmDirArgs { object: place(lab.root, "none") }, Status::NoEntry);
    lab.expect(&RmDirArgs { object: place(lab.root, "f") }, Status::NotDirectory);
    lab.expect(&RmDirArgs { object: place(lab.root, "full") }, Status::NotEmpty);
}

/// What only RENAME and LINK can do wrong.
pub fn moves(ledger: &Ledger) {
    let lab = Lab::new(ledger);
    let rename = |from: DirOpArgs, to: DirOpArgs| RenameArgs { from, to };
    let (in_root, in_dir) = (|name| place(lab.root, name), |name| place(lab.directory, name));
    lab.expect(&rename(in_root("none"), in_root("x")), Status::NoEntry);
    lab.expect(&rename(in_root("d"), in_dir("below")), Status::Invalid);
    lab.expect(&rename(in_root("d"), in_root("full")), Status::NotEmpty);
    lab.expect(&rename(in_root("d"), in_root("f")), Status::NotDirectory);
    lab.expect(&rename(in_root("f"), in_root("d")), Status::IsDirectory);
    lab.expect(&rename(in_root("f"), place(lab.elsewhere, "f")), Status::CrossDevice);
    lab.expect(&rename(in_root("f"), place(lab.file, "x")), Status::NotDirectory);
    lab.expect(&rename(in_root("f"), place(lab.gone, "x")), Status::Stale);
    lab.expect(&LinkArgs { file: lab.file, link: place(lab.elsewhere, "x") }, Status::CrossDevice);
    lab.expect(&LinkArgs { file: lab.file, link: place(lab.gone, "x") }, Status::Stale);
    lab.expect(&LinkArgs { file: lab.file, link: place(lab.pipe, "x") }, Status::NotDirectory);
    lab.expect(&LinkArgs { file: lab.directory, link: in_root("x") }, Status::Invalid);
    lab.expect(&rename(in_root("f"), in_root("f")), Status::Ok);
}

/// Arguments that make no sense, and what belongs to others.
pub fn values(ledger: &Ledger) {
    let lab = Lab::new(ledger);
    let set = |object, attributes| SetAttrArgs { object, attributes, guard: None };
    let nothing = SetAttributes::default();
    let size = |size| SetAttributes { size: Some(size), ..nothing };
    let old = Some(Time { seconds: 1, nanoseconds: 0 });
    lab.expect(&SetAttrArgs { object: lab.file, attributes: size(1), guard: old }, Status::NotSync);
    lab.expect(&set(lab.pipe, size(1)), Status::Invalid);
    lab.expect(&set(lab.file, size(u64::MAX)), Status::FileTooBig);
    lab.expect_as(USER, &set(lab.file, SetAttributes { mode: Some(0o777), ..nothing }), Status::NotPermitted);
    lab.expect_as(USER, &set(lab.file, size(0)), Status::AccessDenied);
    lab.expect(&ReadLinkArgs { symlink: lab.file }, Status::Invalid);
    lab.expect(&ReadArgs { file: lab.pipe, offset: 0, count: 1 }, Status::Invalid);
    lab.expect(&WriteArgs { count: 5, ..write(lab.file, b"four") }, Status::Invalid);
    lab.expect(&WriteArgs { offset: u64::MAX, ..write(lab.file, b"four") }, Status::FileTooBig);
    lab.expect(&MkNodArgs { place: place(lab.root, "x"), what: MkNodData::Other(1) }, Status::BadType);
    let device = DeviceData { attributes: nothing, device: Device { major: 1, minor: 3 } };
    let what = MkNodData::Character(device);
    lab.expect_as(USER, &MkNodArgs { place: place(lab.root, "x"), what }, Status::NotPermitted);
    let foreign = CookieVerifier([9; 8]);
    lab.expect(&ReadDirArgs { cookie: 3, verifier: foreign, ..list(lab.root) }, Status::BadCookie);
    lab.expect(&ReadDirPlusArgs { cookie: 3, verifier: foreign, ..list_plus(lab.root) }, Status::BadCookie);
    lab.expect(&ReadDirArgs { count: 100, ..list(lab.root) }, Status::TooSmall);
    lab.expect(&ReadDirPlusArgs { max_count: 100, ..list_plus(lab.root) }, Status::TooSmall);
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }
}

/// Any procedure on any object, with a word of the arguments changed half the time.
pub fn pieces(ledger: &Ledger) {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for server in 0..120 {
        let directory = tempfile::tempdir().unwrap();
        let lab = if server % 4 == 0 { Lab::local(ledger, directory.path()) } else { Lab::new(ledger) };
        for _ in 0..60 {
            let all = [lab.root, lab.file, lab.directory, lab.link, lab.pipe, lab.elsewhere];
            let procedure = procedures().nth(dice.below(21)).unwrap();
            let object = if dice.below(2) == 0 { lab.usual(procedure) } else { all[dice.below(all.len())] };
            let mut arguments = lab.on(procedure, object).to_vec();
            if dice.below(2) == 0 {
                let word = dice.below(arguments.len() / 4) * 4;
                let values = [0, 1, 2, 3, 8, 0x100, u32::MAX - 1, u32::MAX];
                let value = values[dice.below(values.len())].to_be_bytes();
                arguments[word..word + 4].copy_from_slice(&value);
            }
            let uid = if dice.below(4) == 0 { USER } else { 0 };
            lab.try_call(procedure, uid, &arguments.into());
        }
    }
}
