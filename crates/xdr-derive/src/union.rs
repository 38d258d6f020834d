//! Enumerations and discriminated unions.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DataEnum, DeriveInput, Fields, Variant};

use crate::attributes::{self, VariantOptions, decode_field};

/// True when every variant is a unit with a value.
pub(crate) fn is_enumeration(data: &DataEnum) -> bool {
    data.variants.iter().all(|v| v.discriminant.is_some() && matches!(v.fields, Fields::Unit))
}

/// The bodies of `decode` and `encode` for an enumeration.
pub(crate) fn enumeration(input: &DeriveInput, data: &DataEnum) -> syn::Result<(TokenStream, TokenStream)> {
    if data.variants.is_empty() {
        return Err(syn::Error::new_spanned(input, "an enumeration needs a value"));
    }
    let names: Vec<_> = data.variants.iter().map(|v| &v.ident).collect();
    let values: Vec<_> =
        data.variants.iter().filter_map(|v| v.discriminant.as_ref()).map(|(_, value)| value).collect();
    Ok((
        quote! {
            let value = from.u32()?;
            #(if value == (#values) as u32 { return Ok(Self::#names); })*
            Err(from.error_before(4, ::xdr::ErrorKind::UnknownValue(value)))
        },
        quote! {
            to.u32(match self { #(Self::#names => (#values) as u32),* });
        },
    ))
}

/// The body of an implementation of `Fixed` for an enumeration.
pub(crate) fn fixed(data: &DataEnum) -> TokenStream {
    let names = data.variants.iter().map(|v| &v.ident);
    let values = data.variants.iter().filter_map(|v| v.discriminant.as_ref()).map(|(_, value)| value);
    quote! {
        const WORDS: usize = 1;

        #[inline(always)]
        fn fill(&self, words: &mut [[u8; 4]]) {
            let value: u32 = match self { #(Self::#names => (#values) as u32),* };
            ::xdr::Fixed::fill(&value, words);
        }
    }
}

/// The bodies of `decode` and `encode` for a union.
pub(crate) fn bodies(data: &DataEnum) -> syn::Result<(TokenStream, TokenStream)> {
    let mut decode_cases = Vec::new();
    let mut decode_default = quote!(Err(from.error_before(4, ::xdr::ErrorKind::UnknownValue(discriminant))));
    let mut encode_arms = Vec::new();
    for variant in &data.variants {
        let options = attributes::variant(&variant.attrs)?;
        check(variant, &options)?;
        let keeps_discriminant = options.default || options.cases.len() > 1;
        let build = build(variant, keeps_discriminant)?;
        if options.default {
            decode_default = quote!(Ok(#build));
        } else {
            let cases = &options.cases;
            decode_cases.push(quote!(if #(discriminant == (#cases) as u32)||* { return Ok(#build); }));
        }
        encode_arms.push(encode_arm(variant, &options, keeps_discriminant));
    }
    Ok((
        quote! {
            let discriminant = from.u32()?;
            #(#decode_cases)*
            #decode_default
        },
        quote!(match self { #(#encode_arms)* }),
    ))
}

fn check(variant: &Variant, options: &VariantOptions) -> syn::Result<()> {
    if options.default != options.cases.is_empty() {
        return Err(syn::Error::new_spanned(
            variant,
            "a variant of a union is either `#[xdr(case = …)]` or `#[xdr(default)]`",
        ));
    }
    if matches!(variant.fields, Fields::Named(_)) {
        return Err(syn::Error::new_spanned(
            variant,
            "a variant holds a struct of its own instead of fields",
        ));
    }
    Ok(())
}

fn build(variant: &Variant, keeps_discriminant: bool) -> syn::Result<TokenStream> {
    let name = &variant.ident;
    let kept = keeps_discriminant.then(|| quote!(discriminant));
    let decoded = variant
        .fields
        .iter()
        .skip(usize::from(keeps_discriminant))
        .map(decode_field)
        .collect::<syn::Result<Vec<_>>>()?;
    let fields: Vec<_> = kept.into_iter().chain(decoded).collect();
    Ok(if fields.is_empty() { quote!(Self::#name) } else { quote!(Self::#name(#(#fields),*)) })
}

fn encode_arm(variant: &Variant, options: &VariantOptions, keeps_discriminant: bool) -> TokenStream {
    let name = &variant.ident;
    let bindings: Vec<_> = (0..variant.fields.len()).map(|i| format_ident!("field_{i}")).collect();
    let pattern = if bindings.is_empty() { quote!(Self::#name) } else { quote!(Self::#name(#(#bindings),*)) };
    let discriminant = match options.cases.first() {
        Some(case) if !keeps_discriminant => quote!(to.u32((#case) as u32);),
        _ => quote!(),
    };
    quote! {
        #pattern => {
            #discriminant
            #(::xdr::Encode::encode(#bindings, to);)*
        }
    }
}
