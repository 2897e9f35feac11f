/* GCC's own header: the others in its folder are not for clang. */
#ifdef LAYOUTLINT_GCC_OMP_H
#include LAYOUTLINT_GCC_OMP_H
#else
#include_next <omp.h>
#endif
