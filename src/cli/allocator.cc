// How jemalloc (https://jemalloc.net) is set up; it reads this variable before main. What stages free is kept for a
// second, so that it need not be faulted in anew; columns of 8 MB and more go back at once, so that the peak stays low.
// Asks for huge pages everywhere; whether there are any is skewscope/base/huge_pages.h's. The sanitizers bring their
// own allocator and ignore this.
extern "C" const char* malloc_conf;
const char* malloc_conf =
    "thp:always,oversize_threshold:8388608,background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0";
