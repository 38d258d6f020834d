//! The values of a set of attributes: one table gives numbers, names and types.

use xdr::{Decode, Decoder, Encode, Encoder, ErrorKind};

use super::{
    Bitmap, ChangeAttrType, FileType, FsId, MaskedMode, OpenArguments, Principal, SetTime, SpecData,
};
use crate::nfs4::{FileHandle, Status, Time};

/// Why a `fattr4` could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeError {
    /// It holds an attribute whose type is not known here; nothing behind it can be read
    /// (NFS4ERR_ATTRNOTSUPP).
    NotSupported(u32),
    /// It is malformed (NFS4ERR_BADXDR).
    Malformed(xdr::Error),
}

impl From<xdr::Error> for AttributeError {
    fn from(error: xdr::Error) -> Self {
        Self::Malformed(error)
    }
}

macro_rules! attributes {
    ($($number:literal $id:ident $field:ident: $type:ty,)* ; $($other_number:literal $other:ident,)*) => {
        /// The number of an attribute. NFSv4.1's, and of later standards those that a peer may ask for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names are those of the standard")]
        #[repr(u32)]
        pub enum AttributeId {
            $($id = $number,)*
            $($other = $other_number,)*
        }

        /// Values of some attributes; `None` where there is none.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        #[allow(missing_docs, reason = "the names are those of the standard")]
        pub struct AttributeValues {
            $(pub $field: Option<$type>,)*
        }

        impl AttributeValues {
            /// The attributes that have a value.
            pub fn present(&self) -> Bitmap {
                let mut present = Bitmap::EMPTY;
                $(if self.$field.is_some() { present.insert(AttributeId::$id); })*
                present
            }

            /// Writes those of the `wanted` attributes that have a value, as a `fattr4`.
            pub fn encode_wanted(&self, wanted: Bitmap, to: &mut Encoder) {
                self.encode_given(wanted.filtered(|number| self.has(number)), to);
            }

            /// Writes the `given` attributes, which have a value, as a `fattr4`. Few of all are given mostly:
            /// only those are looked at.
            fn encode_given(&self, given: Bitmap, to: &mut Encoder) {
                to.put(&given);
                let mark = to.begin_opaque();
                for number in given.numbers() {
                    match number {
                        $($number => if let Some(value) = &self.$field { to.put(value) },)*
                        _ => {}
                    }
                }
                to.end_opaque(mark);
            }

            fn has(&self, number: u32) -> bool {
                match number {
                    $($number => self.$field.is_some(),)*
                    _ => false,
                }
            }

            /// Reads a `fattr4`.
            ///
            /// # Errors
            /// See [`AttributeError`].
            pub fn decode(from: &mut Decoder) -> Result<Self, AttributeError> {
                let (given, beyond) = Bitmap::decode_with_rest(from)?;
                let length = from.length(VALUES_BYTES_MAX)?;
                if length > from.remaining() {
                    return Err(from.error(ErrorKind::UnexpectedEnd).into());
                }
                let end = from.offset() + length;
                let mut values = Self::default();
                for number in given.numbers() {
                    match number {
                        $($number => values.$field = Some(from.get::<$type>()?),)*
                        other => return Err(AttributeError::NotSupported(other)),
                    }
                }
                if let Some(other) = beyond {
                    return Err(AttributeError::NotSupported(other));
                }
                // Each value ends where the next begins, so that all of them together show whether one was
                // too long.
                if from.offset() != end {
                    return Err(from.error(ErrorKind::Invalid("the values are not as long as their \
                                                              list")).into());
                }
                Ok(values)
            }
        }
    };
}

/// Longest list of values that is read, in bytes: all attributes here with room for names.
const VALUES_BYTES_MAX: u32 = 64 << 10;

attributes! {
    0 SupportedAttrs supported_attrs: Bitmap,
    1 Type kind: FileType,
    2 FhExpireType fh_expire_type: u32,
    3 Change change: u64,
    4 Size size: u64,
    5 LinkSupport link_support: bool,
    6 SymlinkSupport symlink_support: bool,
    7 NamedAttr named_attr: bool,
    8 FsId fsid: FsId,
    9 UniqueHandles unique_handles: bool,
    10 LeaseTime lease_time: u32,
    11 RdattrError rdattr_error: Status,
    13 AclSupport acl_support: u32,
    15 CanSetTime can_set_time: bool,
    16 CaseInsensitive case_insensitive: bool,
    17 CasePreserving case_preserving: bool,
    18 ChownRestricted chown_restricted: bool,
    19 FileHandle file_handle: FileHandle,
    20 FileId fileid: u64,
    21 FilesAvail files_avail: u64,
    22 FilesFree files_free: u64,
    23 FilesTotal files_total: u64,
    26 Homogeneous homogeneous: bool,
    27 MaxFileSize max_file_size: u64,
    28 MaxLink max_link: u32,
    29 MaxName max_name: u32,
    30 MaxRead max_read: u64,
    31 MaxWrite max_write: u64,
    33 Mode mode: u32,
    34 NoTrunc no_trunc: bool,
    35 NumLinks num_links: u32,
    36 Owner owner: Principal,
    37 OwnerGroup owner_group: Principal,
    41 RawDev raw_dev: SpecData,
    42 SpaceAvail space_avail: u64,
    43 SpaceFree space_free: u64,
    44 SpaceTotal space_total: u64,
    45 SpaceUsed space_used: u64,
    47 TimeAccess time_access: Time,
    48 TimeAccessSet time_access_set: SetTime,
    50 TimeCreate time_create: Time,
    51 TimeDelta time_delta: Time,
    52 TimeMetadata time_metadata: Time,
    53 TimeModify time_modify: Time,
    54 TimeModifySet time_modify_set: SetTime,
    55 MountedOnFileId mounted_on_fileid: u64,
    74 ModeSetMasked mode_set_masked: MaskedMode,
    75 SuppattrExclcreat suppattr_exclcreat: Bitmap,
    76 FsCharsetCap fs_charset_cap: u32,
    77 CloneBlksize clone_blksize: u32,
    79 ChangeAttrType change_attr_type: ChangeAttrType,
    82 XattrSupport xattr_support: bool,
    84 TimeDelegAccess time_deleg_access: Time,
    85 TimeDelegModify time_deleg_modify: Time,
    86 OpenArguments open_arguments: OpenArguments,
    ;
    12 Acl,
    14 Archive,
    24 FsLocations,
    25 Hidden,
    32 MimeType,
    38 QuotaAvailHard,
    39 QuotaAvailSoft,
    40 QuotaUsed,
    46 System,
    49 TimeBackup,
    56 DirNotifDelay,
    57 DirentNotifDelay,
    58 Dacl,
    59 Sacl,
    60 ChangePolicy,
    61 FsStatus,
    62 FsLayoutType,
    63 LayoutHint,
    64 LayoutType,
    65 LayoutBlksize,
    66 LayoutAlignment,
    67 FsLocationsInfo,
    68 MdsThreshold,
    69 RetentionGet,
    70 RetentionSet,
    71 RetentEvtGet,
    72 RetentEvtSet,
    73 RetentionHold,
    78 SpaceFreed,
    80 SecLabel,
    81 ModeUmask,
    83 Offline,
}

/// A whole `fattr4` with every value that is there.
impl Encode for AttributeValues {
    fn encode(&self, to: &mut Encoder) {
        self.encode_given(self.present(), to);
    }
}

/// As [`AttributeValues::decode`], with an unknown attribute as a decoding error: for replies, whose
/// attributes were asked for.
impl Decode for AttributeValues {
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        Self::decode(from).map_err(|error| match error {
            AttributeError::Malformed(error) => error,
            AttributeError::NotSupported(number) => from.error(xdr::ErrorKind::UnknownValue(number)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> AttributeValues {
        AttributeValues {
            kind: Some(FileType::Regular),
            change: Some(5),
            size: Some(4096),
            owner: Some(Principal::Number(7)),
            time_modify: Some(Time { seconds: -1, nanoseconds: 2 }),
            ..AttributeValues::default()
        }
    }

    #[test]
    fn values_stand_in_the_order_of_their_numbers() {
        #[rustfmt::skip]
        let golden: &[u8] = &[
            0, 0, 0, 2, 0, 0, 0, 0b1_1010, 0, 0b10_0000, 0, 0b1_0000,
            0, 0, 0, 40,
            0, 0, 0, 1,
            0, 0, 0, 0, 0, 0, 0, 5,
            0, 0, 0, 0, 0, 0, 16, 0,
            0, 0, 0, 1, b'7', 0, 0, 0,
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 2,
        ];
        assert_eq!(xdr::to_bytes(&values()), golden);
        assert_eq!(xdr::from_bytes::<AttributeValues>(golden.to_vec()).unwrap(), values());
    }

    #[test]
    fn only_wanted_values_are_given() {
        let mut encoder = Encoder::new();
        values().encode_wanted(Bitmap::of(&[AttributeId::Size, AttributeId::Mode]), &mut encoder);
        let given: AttributeValues = xdr::from_bytes(encoder.into_inner()).unwrap();
        assert_eq!(given, AttributeValues { size: Some(4096), ..AttributeValues::default() });
    }

    #[test]
    fn an_attribute_of_unknown_type_is_told_from_a_malformed_one() {
        let mut acl = Decoder::new(vec![0, 0, 0, 1, 0, 0, 0x10, 0, 0, 0, 0, 4, 0, 0, 0, 0].into());
        assert_eq!(AttributeValues::decode(&mut acl), Err(AttributeError::NotSupported(12)));
        let mut future =
            Decoder::new(vec![0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0].into());
        assert_eq!(AttributeValues::decode(&mut future), Err(AttributeError::NotSupported(97)));
        let mut short = Decoder::new(vec![0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0].into());
        assert!(matches!(AttributeValues::decode(&mut short), Err(AttributeError::Malformed(_))));
        let mut long = Decoder::new(vec![0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0].into());
        assert!(matches!(AttributeValues::decode(&mut long), Err(AttributeError::Malformed(_))));
        // The value goes on behind the end of the list, into what comes next.
        let mut beyond =
            Decoder::new(vec![0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5].into());
        assert!(matches!(AttributeValues::decode(&mut beyond), Err(AttributeError::Malformed(_))));
        let mut cut = Decoder::new(vec![0, 0, 0, 1, 0, 0, 0x10, 0, 0, 0, 0, 4].into());
        assert!(matches!(AttributeValues::decode(&mut cut), Err(AttributeError::Malformed(_))), "not there");
    }
}
