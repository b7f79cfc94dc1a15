// How jemalloc (https://jemalloc.net) is set up; it reads this variable before main. Columns of many megabytes come and
// go with every stage: kept for half a second, and on huge pages, they cost a fraction of the page faults, 8 % of the
// CPU time of a report and 40 % of one from digests. The sanitizers bring their own allocator and ignore this.
extern "C" const char* malloc_conf;
const char* malloc_conf = "thp:always,oversize_threshold:0,background_thread:true,dirty_decay_ms:500,muzzy_decay_ms:0";
