// How jemalloc (https://jemalloc.net) is set up; it reads this variable before main. Columns of many megabytes come and
// go with every stage: kept for a second they are not faulted in anew, and then they go back, so that the peak stays low.
// No huge pages: they win a quarter on reports from digests and lose as much on large jobs, where making them stalls.
// The sanitizers bring their own allocator and ignore this.
extern "C" const char* malloc_conf;
const char* malloc_conf = "oversize_threshold:0,background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0";
