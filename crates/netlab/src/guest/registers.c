/* Stands before ptrace(2) in the kernel of a guest: see registers.rs. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

/* Bytes of all registers, far above what any processor has. Not on the stack: the stacks of that kernel are small. */
static char all_registers[64 << 10];

typedef long (*ptrace_function)(int request, pid_t pid, void *address, void *data);

/* Sets the first registers, and leaves the others as they are. */
static long set_first_registers(ptrace_function next, pid_t pid, const struct iovec *first)
{
    void *set = (void *)NT_X86_XSTATE;
    struct iovec all = { all_registers, sizeof all_registers };
    if (next(PTRACE_GETREGSET, pid, set, &all) != 0)
        return -1;
    memcpy(all_registers, first->iov_base, first->iov_len < all.iov_len ? first->iov_len : all.iov_len);
    return next(PTRACE_SETREGSET, pid, set, &all);
}

long ptrace(enum __ptrace_request request, ...)
{
    static ptrace_function next;
    va_list rest;
    va_start(rest, request);
    pid_t pid = va_arg(rest, pid_t);
    void *address = va_arg(rest, void *);
    void *data = va_arg(rest, void *);
    va_end(rest);
    if (next == NULL)
        next = (ptrace_function)dlsym(RTLD_NEXT, "ptrace");
    long result = next(request, pid, address, data);
    /* EFAULT: the host takes them all or none. */
    if (result == -1 && errno == EFAULT && request == PTRACE_SETREGSET && address == (void *)NT_X86_XSTATE)
        return set_first_registers(next, pid, data);
    return result;
}
