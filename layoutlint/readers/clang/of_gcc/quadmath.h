/* GCC's own header: the others in its folder are not for clang. */
#ifdef LAYOUTLINT_GCC_QUADMATH_H
#include LAYOUTLINT_GCC_QUADMATH_H
#else
#include_next <quadmath.h>
#endif
