/* What an SRT server does at its door, called by libsrt's own thread: lets one stream id in. */
typedef int (*set_reason)(int socket, int reason);

static set_reason reject;
static char wanted[513];

int equal(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

static int on_caller(void *unused, int socket, int version, const void *peer, const char *stream_id) {
  if (equal(stream_id, wanted)) return 0;
  reject(socket, 1403);
  return -1;
}

void *gate(void *set_reject_reason, const char *stream_id) {
  int at = 0;
  for (; stream_id[at] && at < 512; at++) wanted[at] = stream_id[at];
  reject = (set_reason)set_reject_reason;
  return (void *)on_caller;
}
