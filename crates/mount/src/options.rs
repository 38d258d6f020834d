//! How a tree is mounted, with the names that mount(8) has for it. What is about the server goes to the
//! address.

use fuser::{MountOption, SessionACL};

/// How a tree is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountOptions {
    /// What stands in the first column of `mount` and `df`.
    pub source: String,
    /// Nothing may be changed.
    pub read_only: bool,
    /// Others than the user who mounts it may use it.
    pub allow_other: bool,
    /// Root may use it too.
    pub allow_root: bool,
    /// The kernel decides by the permission bits, before the server does.
    pub default_permissions: bool,
    /// How many objects the kernel may know before the mount has it drop names of files that no program has
    /// open.
    pub inodes_max: usize,
    /// For the kernel: `nosuid`, `noexec`, `noatime` and the like.
    pub flags: Vec<Flag>,
}

/// An option that the kernel itself looks after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is named as in mount(8)")]
pub enum Flag {
    Dev,
    NoDev,
    Suid,
    NoSuid,
    Exec,
    NoExec,
    Atime,
    NoAtime,
    DirSync,
    Sync,
    Async,
}

/// As many objects as the client remembers.
const INODES_MAX: usize = 131_072;

/// Why an option cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// An option that takes no value was given one.
    #[error("option `{0}` takes no value")]
    Value(String),
    /// An option without the value that it needs.
    #[error("option `{0}` needs a value")]
    NoValue(String),
}

/// Options of mount(8) that are about when and by whom something is mounted, and not how.
const PASSED_OVER: &[&str] =
    &["defaults", "_netdev", "nofail", "auto", "noauto", "user", "nouser", "users", "owner", "group"];

impl MountOptions {
    /// The defaults, for a tree that is named `source`.
    pub fn new(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            read_only: false,
            allow_other: false,
            allow_root: false,
            default_permissions: false,
            inodes_max: INODES_MAX,
            flags: Vec::new(),
        }
    }

    /// Sets one option, `name` or `name=value`. False when it is none of these: then it is about the server,
    /// or wrong.
    ///
    /// # Errors
    /// When a value is missing or one too many.
    pub fn set(&mut self, option: &str) -> Result<bool, OptionError> {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        if PASSED_OVER.contains(&name) || name.starts_with("x-") {
            return Ok(true);
        }
        if name == "fsname" {
            self.source = value.ok_or_else(|| OptionError::NoValue(name.to_owned()))?.to_owned();
            return Ok(true);
        }
        let flag = |flag| (flag, true);
        let (flag, known) = match name {
            "ro" | "rw" => {
                self.read_only = name == "ro";
                (None, true)
            }
            "allow_other" => {
                self.allow_other = true;
                (None, true)
            }
            "allow_root" => {
                self.allow_root = true;
                (None, true)
            }
            "default_permissions" => {
                self.default_permissions = true;
                (None, true)
            }
            "dev" => flag(Some(Flag::Dev)),
            "nodev" => flag(Some(Flag::NoDev)),
            "suid" => flag(Some(Flag::Suid)),
            "nosuid" => flag(Some(Flag::NoSuid)),
            "exec" => flag(Some(Flag::Exec)),
            "noexec" => flag(Some(Flag::NoExec)),
            "atime" => flag(Some(Flag::Atime)),
            "noatime" => flag(Some(Flag::NoAtime)),
            "dirsync" => flag(Some(Flag::DirSync)),
            "sync" => flag(Some(Flag::Sync)),
            "async" => flag(Some(Flag::Async)),
            _ => (None, false),
        };
        if known && value.is_some() {
            return Err(OptionError::Value(name.to_owned()));
        }
        if let Some(flag) = flag {
            self.flags.retain(|other| *other != flag && *other != flag.opposite());
            self.flags.push(flag);
        }
        Ok(known)
    }

    /// The server sees one user. Where others may come in, who they are is for the kernel to tell.
    fn kernel_checks_permissions(&self) -> bool {
        self.default_permissions || self.allow_other || self.allow_root
    }

    pub(crate) fn config(&self) -> fuser::Config {
        let mut all =
            vec![MountOption::FSName(self.source.clone()), MountOption::Subtype("primetime".to_owned())];
        all.extend(self.flags.iter().map(|flag| flag.option()));
        if self.read_only {
            all.push(MountOption::RO);
        }
        if self.kernel_checks_permissions() {
            all.push(MountOption::DefaultPermissions);
        }
        let mut config = fuser::Config::default();
        config.mount_options = all;
        config.acl = match (self.allow_other, self.allow_root) {
            (true, _) => SessionACL::All,
            (false, true) => SessionACL::RootAndOwner,
            (false, false) => SessionACL::Owner,
        };
        config
    }
}

impl Flag {
    fn opposite(self) -> Self {
        match self {
            Self::Dev => Self::NoDev,
            Self::NoDev => Self::Dev,
            Self::Suid => Self::NoSuid,
            Self::NoSuid => Self::Suid,
            Self::Exec => Self::NoExec,
            Self::NoExec => Self::Exec,
            Self::Atime => Self::NoAtime,
            Self::NoAtime => Self::Atime,
            Self::Sync => Self::Async,
            Self::Async => Self::Sync,
            Self::DirSync => Self::DirSync,
        }
    }

    fn option(self) -> MountOption {
        match self {
            Self::Dev => MountOption::Dev,
            Self::NoDev => MountOption::NoDev,
            Self::Suid => MountOption::Suid,
            Self::NoSuid => MountOption::NoSuid,
            Self::Exec => MountOption::Exec,
            Self::NoExec => MountOption::NoExec,
            Self::Atime => MountOption::Atime,
            Self::NoAtime => MountOption::NoAtime,
            Self::DirSync => MountOption::DirSync,
            Self::Sync => MountOption::Sync,
            Self::Async => MountOption::Async,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_kernel_are_taken_and_others_left_to_the_address() {
        let mut options = MountOptions::new("nfs://h/");
        for option in
            ["ro", "noatime", "allow_other", "default_permissions", "_netdev", "x-systemd.automount"]
        {
            assert_eq!(options.set(option), Ok(true), "{option}");
        }
        assert_eq!(options.set("rsize=4096"), Ok(false));
        assert!(options.read_only && options.allow_other && options.default_permissions);
        assert_eq!(options.flags, [Flag::NoAtime]);
    }

    #[test]
    fn others_come_in_only_as_far_as_the_permission_bits_let_them() {
        for (option, checked) in
            [("ro", false), ("default_permissions", true), ("allow_other", true), ("allow_root", true)]
        {
            let mut options = MountOptions::new("nfs://h/");
            options.set(option).unwrap();
            let asked = options.config().mount_options.contains(&MountOption::DefaultPermissions);
            assert_eq!(asked, checked, "{option}");
        }
    }

    #[test]
    fn of_opposites_the_last_one_holds() {
        let mut options = MountOptions::new("nfs://h/");
        for option in ["noexec", "exec", "ro", "rw"] {
            options.set(option).unwrap();
        }
        assert_eq!((options.flags, options.read_only), (vec![Flag::Exec], false));
    }

    #[test]
    fn a_value_where_none_belongs_is_refused() {
        let mut options = MountOptions::new("nfs://h/");
        assert_eq!(options.set("ro=1"), Err(OptionError::Value("ro".into())));
        assert_eq!(options.set("fsname"), Err(OptionError::NoValue("fsname".into())));
        options.set("fsname=tree").unwrap();
        assert_eq!(options.source, "tree");
    }
}
