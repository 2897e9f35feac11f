/* The compiler's own header, with the fast types of glibc (sysdeps and stdlib: stdint.h): clang's are the shortest. */
#define int_fast16_t layoutlint_int_fast16_t
#define int_fast32_t layoutlint_int_fast32_t
#define uint_fast16_t layoutlint_uint_fast16_t
#define uint_fast32_t layoutlint_uint_fast32_t
#include_next <stdint.h>
#undef int_fast16_t
#undef int_fast32_t
#undef uint_fast16_t
#undef uint_fast32_t
#ifndef LAYOUTLINT_STDINT_H
#define LAYOUTLINT_STDINT_H
typedef long int_fast16_t;
typedef long int_fast32_t;
typedef unsigned long uint_fast16_t;
typedef unsigned long uint_fast32_t;
#endif
