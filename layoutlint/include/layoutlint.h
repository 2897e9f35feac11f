/* SPDX-License-Identifier: MIT */
/*
 * What fields and structs are for, written where they are declared, for layoutlint to hold layouts against.
 *
 *	struct counter {
 *		long hits LAYOUTLINT(hot_write, contended);
 *		long limit LAYOUTLINT(hot_read);
 *	} LAYOUTLINT_STRUCT(separate(hits, limit));
 *
 * Clang keeps the words in what libclang shows, in DWARF and in BTF; GCC keeps those of fields in DWARF and BTF from
 * version 16 on. For every other compiler they are nothing. They change no layout and no code. When layoutlint reads C
 * as a compiler without `__has_attribute`, it defines LAYOUTLINT_SHOWN and LAYOUTLINT_STRUCT itself.
 */
#ifndef LAYOUTLINT_H
#define LAYOUTLINT_H

#ifdef __has_attribute
#if __has_attribute(annotate)
#define LAYOUTLINT_SHOWN(text) __attribute__((annotate("layoutlint:" text)))
/* GCC, which has no `annotate`, knows no such attribute of types. */
#define LAYOUTLINT_STRUCT(...) LAYOUTLINT_SHOWN(#__VA_ARGS__) LAYOUTLINT_KEPT(#__VA_ARGS__)
#endif
#if __has_attribute(btf_decl_tag) && !defined(__cplusplus)
#define LAYOUTLINT_KEPT(text) __attribute__((btf_decl_tag("layoutlint:" text)))
#endif
#endif

#ifndef LAYOUTLINT_SHOWN
#define LAYOUTLINT_SHOWN(text)
#endif
#ifndef LAYOUTLINT_KEPT
#define LAYOUTLINT_KEPT(text)
#endif

/* Behind the name of a field. */
#define LAYOUTLINT(...) LAYOUTLINT_SHOWN(#__VA_ARGS__) LAYOUTLINT_KEPT(#__VA_ARGS__)

/* Behind the closing brace of a struct. */
#ifndef LAYOUTLINT_STRUCT
#define LAYOUTLINT_STRUCT(...)
#endif

#endif
