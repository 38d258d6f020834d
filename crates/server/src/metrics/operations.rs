//! All operations of all programs in one line, for the rows of tables.

use proto::{mount3, nfs3, nfs4, nlm4};

/// Procedures of NFSv3, MOUNT and NLM, one more than the greatest number of each.
const NFS3: u32 = 22;
const MOUNT3: u32 = 6;
const NLM4: u32 = 24;
/// Operations of NFSv4; 0 is NULL, 1 is COMPOUND, and 2 is every number that no minor version defines.
const NFS4: u32 = 76;

/// The position of an operation in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperationIndex(u32);

/// How a program and its operations are called.
pub(crate) struct Named {
    pub(crate) program: &'static str,
    pub(crate) operation: &'static str,
    pub(crate) status: fn(u32) -> &'static str,
}

impl OperationIndex {
    pub(crate) const COUNT: usize = (NFS3 + MOUNT3 + NLM4 + NFS4) as usize;
    pub(crate) const COMPOUND: Self = Self(NFS3 + MOUNT3 + NLM4 + 1);
    const ILLEGAL: Self = Self(NFS3 + MOUNT3 + NLM4 + 2);

    pub(crate) fn nfs3(procedure: nfs3::Procedure) -> Self {
        Self(procedure.number())
    }

    pub(crate) fn mount3(procedure: mount3::Procedure) -> Self {
        Self(NFS3 + procedure.number())
    }

    pub(crate) fn nlm4(procedure: nlm4::Procedure) -> Self {
        Self(NFS3 + MOUNT3 + procedure.number())
    }

    /// By its number; one that is none counts as illegal.
    pub(crate) fn nfs4(number: u32) -> Self {
        match nfs4::Operation::from_number(number) {
            Some(operation) => Self(NFS3 + MOUNT3 + NLM4 + operation.number()),
            None => Self::ILLEGAL,
        }
    }

    pub(crate) fn row(self) -> usize {
        self.0 as usize
    }

    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u32).map(Self)
    }

    /// `None` where a program has no operation of this number.
    pub(crate) fn named(self) -> Option<Named> {
        let Self(index) = self;
        if index < NFS3 {
            let operation = nfs3::Procedure::from_number(index)?.name();
            let status = |code| nfs3::Status::from_code(code).rfc_name();
            return Some(Named { program: "nfs3", operation, status });
        }
        let index = index - NFS3;
        if index < MOUNT3 {
            let operation = mount_name(mount3::Procedure::from_number(index)?);
            let status = |code| mount3::Status::from_code(code).rfc_name();
            return Some(Named { program: "mount3", operation, status });
        }
        let index = index - MOUNT3;
        if index < NLM4 {
            let operation = nlm4::Procedure::from_number(index)?.name();
            let status = |code| nlm4::Status::from_code(code).rfc_name();
            return Some(Named { program: "nlm4", operation, status });
        }
        let operation = match index - NLM4 {
            0 => "NULL",
            1 => "COMPOUND",
            2 => "ILLEGAL",
            number => nfs4::Operation::from_number(number)?.name(),
        };
        let status = |code| nfs4::Status::from_code(code).rfc_name();
        Some(Named { program: "nfs4", operation, status })
    }
}

fn mount_name(procedure: mount3::Procedure) -> &'static str {
    use mount3::Procedure as P;
    match procedure {
        P::Null => "NULL",
        P::Mnt => "MNT",
        P::Dump => "DUMP",
        P::Umnt => "UMNT",
        P::UmntAll => "UMNTALL",
        P::Export => "EXPORT",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_operation_has_a_row_and_a_name_of_its_own() {
        let mut rows = BTreeSet::new();
        rows.extend(nfs3::Procedure::ALL.iter().map(|p| OperationIndex::nfs3(*p).row()));
        rows.extend(
            (0..6).filter_map(mount3::Procedure::from_number).map(|p| OperationIndex::mount3(p).row()),
        );
        rows.extend(nlm4::Procedure::ALL.iter().map(|p| OperationIndex::nlm4(*p).row()));
        rows.extend(nfs4::Operation::ALL.iter().map(|o| OperationIndex::nfs4(o.number()).row()));
        rows.extend([OperationIndex::COMPOUND.row(), OperationIndex::nfs4(9999).row()]);
        assert!(rows.iter().all(|row| *row < OperationIndex::COUNT));
        let named: Vec<_> = OperationIndex::all().filter_map(OperationIndex::named).collect();
        let names: BTreeSet<_> = named.iter().map(|named| (named.program, named.operation)).collect();
        assert_eq!(names.len(), named.len());
        // NULL of NFSv4 is not counted.
        assert_eq!(named.len(), rows.len() + 1);
    }
}
