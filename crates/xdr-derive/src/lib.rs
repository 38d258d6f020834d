//! `#[derive(Xdr)]`: encoding and decoding for structs, enumerations and discriminated unions (RFC 4506 §4).
//!
//! - **struct**: its fields in order (§4.14). Tuple structs likewise.
//! - **enum of unit variants with values** (`A = 1`): an enumeration (§4.3); another value is `UnknownValue`.
//! - **enum whose variants carry `#[xdr(case = VALUE)]`**: a discriminated union (§4.15) with an unsigned
//!   discriminant. A variant holds nothing or one field. `VALUE` is an expression of type `u32`; several are
//!   written `case = A | B` and need a variant with a `u32` field in front that keeps which one it was. At
//!   most one variant is marked `#[xdr(default)]`; its first field must be a `u32` and keeps the
//!   discriminant.
//! - Fields of variable length (`Bytes`, `String`, `Vec`, `List`) carry `#[xdr(max = N)]`.
//!   `#[xdr(optional_max = N)]` is for an `Option` of such a type.

#![forbid(unsafe_code)]

mod attributes;
mod structure;
mod union;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{Data, DeriveInput, parse_macro_input};

/// Derives `xdr::Encode` and `xdr::Decode`; see the crate's documentation.
#[proc_macro_derive(Xdr, attributes(xdr))]
pub fn derive_xdr(input: TokenStream) -> TokenStream {
    derive(input, |item| {
        let (decode, encode) = (item.decode(), item.encode());
        quote!(#decode #encode)
    })
}

/// Derives `xdr::Decode` alone, for a type that writes its own `xdr::Encode`.
#[proc_macro_derive(XdrDecode, attributes(xdr))]
pub fn derive_xdr_decode(input: TokenStream) -> TokenStream {
    derive(input, Item::decode)
}

fn derive(input: TokenStream, implement: fn(&Item) -> Tokens) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    Item::of(input).map_or_else(syn::Error::into_compile_error, |item| implement(&item)).into()
}

/// A type, and the bodies of its methods.
struct Item {
    input: DeriveInput,
    decode: Tokens,
    encode: Tokens,
}

impl Item {
    fn of(input: DeriveInput) -> syn::Result<Self> {
        let (decode, encode) = match &input.data {
            Data::Struct(data) => structure::bodies(&data.fields)?,
            Data::Enum(data) if union::is_enumeration(data) => union::enumeration(&input, data)?,
            Data::Enum(data) => union::bodies(data)?,
            Data::Union(_) => return Err(syn::Error::new_spanned(input, "XDR has no untagged unions")),
        };
        Ok(Self { input, decode, encode })
    }

    fn decode(&self) -> Tokens {
        let body = &self.decode;
        let method = quote! {
            fn decode(from: &mut ::xdr::Decoder) -> ::xdr::Result<Self> {
                #body
            }
        };
        self.implement(&quote!(::xdr::Decode), &method)
    }

    fn encode(&self) -> Tokens {
        let body = &self.encode;
        let method = quote! {
            fn encode(&self, to: &mut ::xdr::Encoder) {
                #body
            }
        };
        self.implement(&quote!(::xdr::Encode), &method)
    }

    /// The trait for the type, where its parameters have it too.
    fn implement(&self, name: &Tokens, method: &Tokens) -> Tokens {
        let item = &self.input.ident;
        let (generics, arguments, conditions) = self.input.generics.split_for_impl();
        let parameters = self.input.generics.type_params().map(|p| &p.ident);
        let conditions = conditions.map(|c| c.predicates.iter().collect::<Vec<_>>()).unwrap_or_default();
        quote! {
            impl #generics #name for #item #arguments
            where #(#parameters: #name,)* #(#conditions,)*
            {
                #method
            }
        }
    }
}
