//! The `#[xdr(…)]` attributes of types, fields and variants.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, Field};

/// What the attributes of a variant say.
#[derive(Default)]
pub(crate) struct VariantOptions {
    pub(crate) cases: Vec<Expr>,
    pub(crate) default: bool,
}

/// True for a type with `#[xdr(fixed)]`.
pub(crate) fn is_fixed(attributes: &[Attribute]) -> syn::Result<bool> {
    let mut is_fixed = false;
    for attribute in attributes.iter().filter(|a| a.path().is_ident("xdr")) {
        attribute.parse_nested_meta(|meta| {
            is_fixed = meta.path.is_ident("fixed");
            if is_fixed { Ok(()) } else { Err(meta.error("expected `fixed`")) }
        })?;
    }
    Ok(is_fixed)
}

pub(crate) fn variant(attributes: &[Attribute]) -> syn::Result<VariantOptions> {
    let mut options = VariantOptions::default();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("xdr")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("case") {
                flatten(meta.value()?.parse()?, &mut options.cases);
                Ok(())
            } else if meta.path.is_ident("default") {
                options.default = true;
                Ok(())
            } else {
                Err(meta.error("expected `case = …` or `default`"))
            }
        })?;
    }
    Ok(options)
}

/// The expression that decodes a field.
pub(crate) fn decode_field(field: &Field) -> syn::Result<TokenStream> {
    let kind = &field.ty;
    let mut decode = quote!(<#kind as ::xdr::Decode>::decode(from)?);
    for attribute in field.attrs.iter().filter(|a| a.path().is_ident("xdr")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("max") {
                let max: Expr = meta.value()?.parse()?;
                decode = quote!(<#kind as ::xdr::DecodeBounded>::decode_bounded(from, #max)?);
                Ok(())
            } else if meta.path.is_ident("optional_max") {
                let max: Expr = meta.value()?.parse()?;
                decode = quote! {
                    if from.bool()? { Some(::xdr::DecodeBounded::decode_bounded(from, #max)?) } else { None }
                };
                Ok(())
            } else {
                Err(meta.error("expected `max = …` or `optional_max = …`"))
            }
        })?;
    }
    Ok(decode)
}

fn flatten(expression: Expr, into: &mut Vec<Expr>) {
    match expression {
        Expr::Binary(binary) if matches!(binary.op, syn::BinOp::BitOr(_)) => {
            flatten(*binary.left, into);
            flatten(*binary.right, into);
        }
        other => into.push(other),
    }
}
