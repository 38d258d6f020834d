//! `#[derive(Xdr)]`: encoding and decoding for structs, enumerations and discriminated unions (RFC 4506 §4).
//!
//! - **struct**: its fields in order (§4.14). Tuple structs likewise.
//!   With `#[xdr(fixed)]`, where all fields are `xdr::Fixed`, it is written in one piece.
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
use quote::quote;
use syn::{Data, DeriveInput, parse_macro_input};

/// Derives `xdr::Encode` and `xdr::Decode`; see the crate's documentation.
#[proc_macro_derive(Xdr, attributes(xdr))]
pub fn derive_xdr(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let is_fixed = attributes::is_fixed(&input.attrs)?;
    if is_fixed && !(matches!(input.data, Data::Struct(_)) && input.generics.params.is_empty()) {
        return Err(syn::Error::new_spanned(input, "`fixed` is for structs without parameters"));
    }
    let (bodies, fixed) = match &input.data {
        Data::Struct(data) => {
            (structure::bodies(&data.fields)?, is_fixed.then(|| structure::fixed(&data.fields)))
        }
        Data::Enum(data) if union::is_enumeration(data) => {
            (union::enumeration(input, data)?, Some(union::fixed(data)))
        }
        Data::Enum(data) => (union::bodies(data)?, None),
        Data::Union(_) => return Err(syn::Error::new_spanned(input, "XDR has no untagged unions")),
    };
    let (decode, encode) = bodies;
    let encode = match is_fixed {
        false => encode,
        true => quote! {
            let mut words = [[0; 4]; <Self as ::xdr::Fixed>::WORDS];
            ::xdr::Fixed::fill(self, &mut words);
            to.fixed(words.as_flattened());
        },
    };
    let name = &input.ident;
    let fixed = fixed.map(|body| quote!(impl ::xdr::Fixed for #name { #body }));
    let (generics, arguments, conditions) = input.generics.split_for_impl();
    let parameters: Vec<_> = input.generics.type_params().map(|p| &p.ident).collect();
    let conditions = conditions.map(|c| c.predicates.iter().collect::<Vec<_>>()).unwrap_or_default();
    Ok(quote! {
        impl #generics ::xdr::Decode for #name #arguments
        where #(#parameters: ::xdr::Decode,)* #(#conditions,)*
        {
            fn decode(from: &mut ::xdr::Decoder) -> ::xdr::Result<Self> {
                #decode
            }
        }

        impl #generics ::xdr::Encode for #name #arguments
        where #(#parameters: ::xdr::Encode,)* #(#conditions,)*
        {
            fn encode(&self, to: &mut ::xdr::Encoder) {
                #encode
            }
        }

        #fixed
    })
}
