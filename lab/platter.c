/*
 * The platter: what a disk would still have after a loss of power. Loaded into a process by
 * LD_PRELOAD, it keeps a second copy of everything below PLATTER_ROOT that the process made durable,
 * and of nothing else. The process itself sees its files as ever; they are the page cache.
 * `platter.ts` loses the power: it puts the files together again out of both.
 *
 *   PLATTER_AT/held/I     the file with inode number I, kept by a hard link, whatever becomes of its
 *                         names, so that no other file can get that number
 *   PLATTER_AT/durable/I  the durable content of that file; not there: never synced
 *   PLATTER_AT/names/I    the durable names in the directory with inode number I; none that was
 *                         synced may be removed
 *
 * Durable is: what fsync or fdatasync was called for; what was written through a descriptor with
 * O_DSYNC; the names in a directory that was synced; and the name that a new file had when it was
 * synced for the first time, which ext4, XFS and btrfs write with it, and LevelDB counts on that.
 *
 * Errs in one direction only. A call that this file does not know (a raw system call, io_uring, a
 * sync of a mapped file) makes nothing durable, so that a test may fail without cause but cannot
 * pass without cause. Whatever goes wrong in here ends the process.
 *
 * PLATTER_SYNCS=N kills the process in its Nth fsync or fdatasync, before that has any effect.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *root;
static const char *platter;
static long syncs_left; /* 0: any number */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
  const char *syncs = getenv("PLATTER_SYNCS");
  root = getenv("PLATTER_ROOT");
  platter = getenv("PLATTER_AT");
  syncs_left = syncs == NULL ? 0 : atol(syncs);
}

static void demand(bool isSo, const char *what) {
  if (isSo) return;
  dprintf(STDERR_FILENO, "platter: %s: %s\n", what, strerror(errno));
  abort();
}

static void place(char path[PATH_MAX], const char *kind, ino_t inode) {
  int length = snprintf(path, PATH_MAX, "%s/%s/%ju", platter, kind, (uintmax_t)inode);
  demand(length > 0 && length < PATH_MAX, "a path is too long");
}

/* Fills `path` with where the descriptor leads. Returns whether that is below the root. */
static bool is_ours(int fd, char path[PATH_MAX]) {
  char link[64];
  if (root == NULL || platter == NULL) return false;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return false;
  path[length] = '\0';
  size_t rootLength = strlen(root);
  return strncmp(path, root, rootLength) == 0 && (path[rootLength] == '/' || path[rootLength] == '\0');
}

/* Keeps the file. Returns false when it has no name any more and was never kept: it is gone. */
static bool hold(int at, const char *name, ino_t inode) {
  char held[PATH_MAX];
  place(held, "held", inode);
  if (linkat(at, name, AT_FDCWD, held, AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST) return true;
  demand(errno == ENOENT, "cannot hold a file");
  return false;
}

/* The names in a directory as they are now are durable. */
static void persist_names(const char *path) {
  char temporary[PATH_MAX], names[PATH_MAX];
  struct stat status;
  DIR *directory = opendir(path);
  demand(directory != NULL, "cannot list a directory");
  demand(fstat(dirfd(directory), &status) == 0, "cannot look at a directory");
  place(names, "names", status.st_ino);
  snprintf(temporary, sizeof temporary, "%s/names.tmp", platter);
  FILE *list = fopen(temporary, "w");
  demand(list != NULL, "cannot write a list of names");
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    /* A name that another thread has removed meanwhile is not durable. */
    if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    bool isDirectory = S_ISDIR(status.st_mode);
    if (!isDirectory && !hold(dirfd(directory), entry->d_name, status.st_ino)) continue;
    fprintf(list, "%c %ju %s\n", isDirectory ? 'd' : 'f', (uintmax_t)status.st_ino, entry->d_name);
  }
  demand(fclose(list) == 0 && rename(temporary, names) == 0, "cannot write a list of names");
  closedir(directory);
}

/* So is the name of a file, beside those that were durable before. The last of equal names counts. */
static void persist_name(char *path, ino_t inode) {
  char names[PATH_MAX];
  struct stat status;
  char *slash = strrchr(path, '/');
  /* It may have lost its name meanwhile. */
  if (slash == NULL || stat(path, &status) != 0 || status.st_ino != inode) return;
  *slash = '\0';
  demand(stat(path, &status) == 0, "cannot look at a directory");
  place(names, "names", status.st_ino);
  int list = open(names, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  demand(list >= 0, "cannot open a list of names");
  demand(dprintf(list, "f %ju %s\n", (uintmax_t)inode, slash + 1) > 0, "cannot add a name");
  close(list);
}

/* `length` bytes of the file from `from` on are durable as they are now; all of it when negative. */
static void persist_content(int fd, char *path, ino_t inode, off_t from, off_t length) {
  static char buffer[1 << 16];
  char link[64], held[PATH_MAX], durable[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (!hold(AT_FDCWD, link, inode)) return;
  place(held, "held", inode);
  place(durable, "durable", inode);
  bool isNew = access(durable, F_OK) != 0;
  int source = open(held, O_RDONLY | O_CLOEXEC);
  int target = open(durable, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  demand(source >= 0 && target >= 0, "cannot open a file");
  for (off_t at = from; length < 0 || at < from + length;) {
    size_t wanted = sizeof buffer;
    if (length >= 0 && from + length - at < (off_t)wanted) wanted = from + length - at;
    ssize_t count = pread(source, buffer, wanted, at);
    demand(count >= 0 && pwrite(target, buffer, count, at) == count, "cannot copy a file");
    at += count;
    if (count > 0) continue;
    demand(length >= 0 || ftruncate(target, at) == 0, "cannot cut a file");
    break;
  }
  close(source);
  close(target);
  if (isNew) persist_name(path, inode);
}

static void persist(int fd, off_t from, off_t length) {
  char path[PATH_MAX];
  struct stat status;
  if (!is_ours(fd, path)) return;
  demand(fstat(fd, &status) == 0, "cannot look at a file");
  pthread_mutex_lock(&lock);
  if (length < 0 && syncs_left > 0 && --syncs_left == 0) kill(getpid(), SIGKILL);
  if (S_ISDIR(status.st_mode)) persist_names(path);
  else persist_content(fd, path, status.st_ino, from, length);
  pthread_mutex_unlock(&lock);
}

/* `offset`: where it was written; negative: where the descriptor stands after it. */
static ssize_t written(int fd, ssize_t count, off_t offset) {
  if (count <= 0 || (fcntl(fd, F_GETFL) & O_DSYNC) == 0) return count;
  persist(fd, offset < 0 ? lseek(fd, 0, SEEK_CUR) - count : offset, count);
  return count;
}

/* Before the sync itself: what is written beside it need not be durable by it. */
int fsync(int fd) {
  persist(fd, 0, -1);
  return syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
  persist(fd, 0, -1);
  return syscall(SYS_fdatasync, fd);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  return written(fd, syscall(SYS_write, fd, bytes, length), -1);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  return written(fd, syscall(SYS_writev, fd, parts, count), -1);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  return written(fd, syscall(SYS_pwrite64, fd, bytes, length, offset), offset);
}

/* The kernel takes the offset in two halves; where a register holds all of it, the second is 0. */
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  return written(fd, syscall(SYS_pwritev, fd, parts, count, offset, 0L), offset);
}

_Static_assert(sizeof(long) == sizeof(off64_t), "written for machines of 64 bits");
ssize_t pwrite(int, const void *, size_t, off_t) __attribute__((alias("pwrite64")));
ssize_t pwritev(int, const struct iovec *, int, off_t) __attribute__((alias("pwritev64")));
