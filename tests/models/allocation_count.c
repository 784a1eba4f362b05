/* allocation_count.c - How often a program allocates, and what it keeps.
 *
 * Preloaded, it writes "CALLS LIVE" to the file $ALLOCATION_COUNT when the program ends: the calls that
 * allocated memory, and how many blocks of theirs were not given back.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* glibc's allocator under the names that nobody replaces. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

static atomic_long calls, live;

static void *counted(void *block) {
  ++calls;
  live += block != NULL;
  return block;
}

void *malloc(size_t bytes) { return counted(__libc_malloc(bytes)); }
void *calloc(size_t count, size_t bytes) { return counted(__libc_calloc(count, bytes)); }
void *memalign(size_t alignment, size_t bytes) { return counted(__libc_memalign(alignment, bytes)); }
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  *block = memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}

void *realloc(void *block, size_t bytes) {
  live -= block != NULL;
  return counted(__libc_realloc(block, bytes));
}

void free(void *block) {
  live -= block != NULL;
  __libc_free(block);
}

__attribute__((destructor)) static void report(void) {
  long calls_made = calls, blocks_live = live;
  FILE *file = fopen(getenv("ALLOCATION_COUNT"), "w");
  if (!file)
    abort();
  fprintf(file, "%ld %ld\n", calls_made, blocks_live);
  fclose(file);
}
