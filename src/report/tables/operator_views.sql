-- As rank_views.sql, where the details of rows were read.

CREATE VIEW ops_summary AS
SELECT name, direct_ns / 1000.0 AS total_direct_kernel_time_sum, subtree_ns / 1000.0 AS total_subtree_kernel_time_sum,
       launches AS "Count", direct_ns / 1e6 AS total_direct_kernel_time_ms, 100.0 * share AS "Percentage (%)"
FROM operators WHERE launches > 0 ORDER BY direct_ns DESC;
