// How jemalloc (https://jemalloc.net) is set up; it reads this variable before main. What stages free is kept for
// 0.3 s, so that it need not be faulted in again; columns of 8 MB and more go back at once, so that the peak stays low.
// No huge pages: where a host takes back the free memory of its virtual machines (free page reporting), the first touch
// of one costs more than those of 512 small ones: reports took half as long again, or twice as long. The sanitizers
// bring their own allocator and ignore this.
extern "C" const char* malloc_conf;
const char* malloc_conf =
    "thp:never,oversize_threshold:8388608,background_thread:true,dirty_decay_ms:300,muzzy_decay_ms:0";
