//! Structs.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Fields, Index};

use crate::attributes::decode_field;

/// The bodies of `decode` and `encode`.
pub(crate) fn bodies(fields: &Fields) -> syn::Result<(TokenStream, TokenStream)> {
    let decode: Vec<_> = fields.iter().map(decode_field).collect::<syn::Result<_>>()?;
    Ok(match fields {
        Fields::Named(named) => {
            let names: Vec<_> = named.named.iter().map(|f| &f.ident).collect();
            (quote!(Ok(Self { #(#names: #decode),* })), quote!(#(::xdr::Encode::encode(&self.#names, to);)*))
        }
        Fields::Unnamed(unnamed) => {
            let indices = (0..unnamed.unnamed.len()).map(Index::from);
            (quote!(Ok(Self(#(#decode),*))), quote!(#(::xdr::Encode::encode(&self.#indices, to);)*))
        }
        Fields::Unit => (quote!(let _ = from; Ok(Self)), quote!(let _ = to;)),
    })
}

/// The body of an implementation of `Fixed`.
pub(crate) fn fixed(fields: &Fields) -> TokenStream {
    let kinds: Vec<_> = fields.iter().map(|field| &field.ty).collect();
    let members = fields.members();
    quote! {
        const WORDS: usize = 0 #(+ <#kinds as ::xdr::Fixed>::WORDS)*;

        #[inline(always)]
        fn fill(&self, words: &mut [[u8; 4]]) {
            #(
                let (own, words) = words.split_at_mut(<#kinds as ::xdr::Fixed>::WORDS);
                ::xdr::Fixed::fill(&self.#members, own);
            )*
            let _ = words;
        }
    }
}
