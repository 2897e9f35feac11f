"""The instructions and constraints of `asm`, in the forms that Linux uses (arch/*/include/asm of v6.12)."""

from __future__ import annotations

import pytest

from layoutlint.sources.bodies.assembler import parse


@pytest.mark.parametrize(("statement", "effects"), [
    # the source, the statement as clang prints it with macros expanded, the effects on its operands
    # x86: atomic.h, percpu.h, cmpxchg.h, bitops.h, barrier.h, paravirt_types.h
    (r'asm volatile (".pushsection .smp_locks,\"a\"\n671:\n\tlock; addl %1, %0" : "+m" (v->counter) : "ir" (i) : "memory");', ["atomic", "read"]),
    (r'asm volatile ("addl %[val], %%gs:%[var]" : [var] "+m" (x) : [val] "ri" (v));', ["read write", "read"]),
    (r'asm volatile ("movl %%gs:%[var], %[val]" : [val] "=r" (p) : [var] "m" (x));', ["write", "read"]),
    (r'asm ("movl %[val], %%gs:%[var]" : [var] "=m" (x) : [val] "ri" (p));', ["write", "read"]),
    (r'asm volatile ("xchgq %q0, %1\n" : "+r" (ret), "+m" (*p) : : "memory", "cc");', ["read write", "atomic"]),
    (r'asm volatile ("cmpxchgl %[nval], %%gs:%[var]" : [oval] "+a" (o), [var] "+m" (x) : [nval] "r" (n) : "memory");', ["read write", "read write", "read"]),
    (r'asm volatile ("\n\tlock; cmpxchgl %k[new], %[ptr]" : "=@ccz" (ok), [ptr] "+m" (*p), [old] "+a" (o) : [new] "r" (n) : "memory");', ["write", "atomic", "read write", "read"]),
    (r'asm volatile ("lock; orb %b1,%0" : "+m" (*a) : "iq" (1) : "memory");', ["atomic", "read"]),
    (r'asm volatile ("lock; btsq  %1,%0" : : "m" (*(volatile long *)(a)), "Ir" (nr) : "memory");', ["atomic", "read"]),
    (r'asm volatile ("btq  %2,%1" : "=@ccc" (old) : "m" (*(unsigned long *)a), "Ir" (nr) : "memory");', ["write", "read", "read"]),
    (r'asm volatile ("lock; addl $0,-4(%%rsp)" : : : "memory", "cc");', []),
    (r'asm volatile ("call *%[op]" : "=a" (r), "+r" (sp) : [op] "m" (pv_ops.irq.f) : "memory", "cc");', ["write", "read write", "read"]),
    # arm64: atomic_ll_sc.h, atomic_lse.h, cmpxchg.h, barrier.h, rwonce.h
    (r'asm volatile ("\tprfm pstl1strm, %2\n1:\tldxr %w0, %2\n\tadd\n\tstxr %w1, %w0, %2\n" : "=&r" (r), "=&r" (t), "+Q" (v->counter) : "r" (i));', ["write", "write", "atomic", "read"]),
    (r'asm volatile (".arch_extension lse\n\tstadd %w[i], %[v]\n" : [v] "+Q" (v->counter) : [i] "r" (i));', ["atomic", "read"]),
    (r'asm volatile ("\tldaddal %w[i], %w[old], %[v]" : [v] "+Q" (v->counter), [old] "=r" (o) : [i] "r" (i) : "memory");', ["atomic", "write", "read"]),
    (r'asm volatile ("\tcasal %x[old], %x[new], %[v]" : [v] "+Q" (*p), [old] "+r" (o) : [new] "rZ" (n) : "memory");', ["atomic", "read write", "read"]),
    (r'asm volatile ("\tswpal %w3, %w0, %2\n" : "=&r" (r), "=&r" (t), "+Q" (*p) : "r" (x) : "memory");', ["write", "write", "atomic", "read"]),
    (r'asm volatile ("stlr %w1, %0" : "=Q" (*p) : "rZ" (v) : "memory");', ["write", "read"]),
    (r'asm volatile ("ldar %w0, %1" : "=r" (v) : "Q" (*p) : "memory");', ["write", "read"]),
    # RISC-V, POWER, s390
    (r'asm volatile ("\tamoadd.w zero, %1, %0" : "+A" (v->counter) : "r" (i) : "memory");', ["atomic", "read"]),
    (r'asm volatile ("1:\tlwarx %0,0,%3\n\tadd %0,%2,%0\n\tstwcx. %0,0,%3\n" : "=&r" (t), "+m" (v->counter) : "r" (a), "r" (p) : "cc");', ["write", "atomic", "read", "read"]),
    (r'asm volatile ("\tlaal %[old],%[val],%[ptr]\n" : [old] "=d" (o), [ptr] "+QS" (*p) : [val] "d" (v) : "cc", "memory");', ["write", "atomic", "read"]),
    (r'asm volatile ("\tcs %[old],%[new],%[ptr]\n" : [old] "+d" (o), [ptr] "+Q" (*p) : [new] "d" (n) : "cc", "memory");', ["read write", "atomic", "read"]),
])  # fmt: skip
def test_effects(statement, effects):
    (found,) = parse(f'int f(void) __attribute__((section(".text"))) {{ {statement} }}')
    operands = range(len(found.outputs) + len(found.inputs))
    assert [" ".join(effect.value for effect in found.effects(at)) for at in operands] == effects


@pytest.mark.parametrize(("text", "templates"), [
    ("", []),
    (r"""s = "asm (\"x\")"; c = '"'; asm ("a");""", ["a"]),
    ('xasm ("b"); asm volatile goto ("c" : : "r" (({ asm ("d" : : ); 1; })) : : l); ) asm ("e")', ["c", "d", "e"]),
    ('f(x[1], asm ("f" : "=r" (a[g(1)]', ["f"]),
    ('register long r asm("rdi"); asm ("")', [""]),
])  # fmt: skip
def test_statements_in_a_text(text, templates):
    assert [each.template for each in parse(text)] == templates
