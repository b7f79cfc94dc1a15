-- Names that users of TraceLens know, over the tables of one rank: times in milliseconds and microseconds as there.

CREATE VIEW gpu_timeline AS
WITH whole AS (SELECT * FROM timeline WHERE device IS NULL AND step IS NULL AND place IS NULL),
     parts(place, type, ns) AS (
       SELECT 1, 'computation_time', compute_ns FROM whole
       UNION ALL SELECT 2, 'exposed_comm_time', exposed_communication_ns FROM whole
       UNION ALL SELECT 3, 'exposed_memcpy_time', exposed_memcpy_ns FROM whole
       UNION ALL SELECT 4, 'busy_time', busy_ns FROM whole
       UNION ALL SELECT 5, 'idle_time', idle_ns FROM whole
       UNION ALL SELECT 6, 'total_time', total_ns FROM whole
       UNION ALL SELECT 7, 'total_comm_time', communication_ns FROM whole
       UNION ALL SELECT 8, 'total_memcpy_time', memcpy_ns FROM whole)
SELECT type, ns / 1e6 AS "time ms", 100.0 * ns / (SELECT total_ns FROM whole) AS percent FROM parts ORDER BY place;
