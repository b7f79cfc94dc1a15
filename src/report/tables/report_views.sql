-- Names that users of TraceLens and of Ascend's tools know, over the tables of a report. Times in these views are
-- microseconds, as there; sizes in "MB" are 2^20 bytes, bandwidths decimal GB/s. Waits and transfers are skewscope's:
-- on one clock, over instances that were matched, not by order of calls.

-- Bandwidth of pairs of nodes, and within one: of groups whose members all lie on the two hosts, which differ or are one.
-- Weighted by instances; NULL: not known of any.
CREATE VIEW node_pairs AS
WITH places AS (SELECT m.communicator, min(r.host) AS host, max(r.host) AS other_host
                FROM communicator_ranks m LEFT JOIN ranks r ON r.rank = m.rank
                GROUP BY m.communicator HAVING count(r.host) = count(*) AND count(DISTINCT r.host) <= 2)
SELECT p.host, p.other_host, c.op, count(DISTINCT c.communicator) AS groups, sum(c.count) AS count,
       sum(c.count * c.bytes) AS bytes, sum(c.wait_sum_ns) AS wait_ns, sum(c.transfer_sum_ns) AS transfer_ns,
       sum(c.bus_bandwidth_mean_gb_per_s * c.count) / sum(iif(c.bus_bandwidth_mean_gb_per_s IS NULL, NULL, c.count))
         AS bus_bandwidth_mean_gb_per_s,
       min(c.bus_bandwidth_min_gb_per_s) AS bus_bandwidth_min_gb_per_s, max(c.bus_bandwidth_max_gb_per_s) AS bus_bandwidth_max_gb_per_s
FROM collectives c JOIN places p ON p.communicator = c.communicator
GROUP BY p.host, p.other_host, c.op;

-- One row per call of a rank.
CREATE VIEW nccl_long AS
SELECT c.instance AS collective_id, c.rank, g.name AS "Process Group Name", g.ranks AS "Process Group Ranks",
       c.op AS "Collective name", g.size AS "Group size", c.dtype, c.seq AS "index_in_group",
       c.bytes / 1048576.0 AS "Full msg size (MB)", c.start_ns / 1000.0 AS ts, (c.end_ns - c.start_ns) / 1000.0 AS dur,
       c.wait_ns / 1000.0 AS wait_time_us, c.transfer_ns / 1000.0 AS transfer_time_us, c.complete
FROM collective_ranks c LEFT JOIN communicators g ON g.id = c.communicator;

-- One row per collective whose members leave together.
CREATE VIEW nccl_implicit_sync AS
SELECT collective_id, "Process Group Name", "Process Group Ranks", "Collective name", dtype, "Group size",
       "Full msg size (MB)", count(*) AS ranks, min(dur) AS comm_latency, avg(wait_time_us) AS avg_wait_time,
       max(ts) - min(ts) AS "skew in start time",
       max(first_rank) AS "earliest arrival rank",
       max(ts + dur) - min(ts + dur) AS "skew in end time",
       "Full msg size (MB)" * 1048576 / (min(transfer_time_us) * 1000) AS "algo bw (GB/s)",
       "Full msg size (MB)" * 1048576 / (min(transfer_time_us) * 1000) *
         CASE "Collective name" WHEN 'all_reduce' THEN 2.0 * ("Group size" - 1) / "Group size"
                                ELSE 1.0 * ("Group size" - 1) / "Group size" END AS "bus bw (GB/s)",
       min(complete) AS complete
FROM (SELECT *, first_value(rank) OVER (PARTITION BY collective_id ORDER BY ts, rank DESC) AS first_rank FROM nccl_long)
WHERE "Collective name" IN ('all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all', 'all_to_all_v', 'barrier')
GROUP BY collective_id;

CREATE VIEW nccl_summary_implicit_sync AS
SELECT "Collective name", dtype, "Full msg size (MB)", count(*) AS count, sum(comm_latency) / 1000 AS "Total comm latency (ms)",
       avg(comm_latency) AS comm_latency_mean, min(comm_latency) AS comm_latency_min, max(comm_latency) AS comm_latency_max,
       avg(avg_wait_time) AS avg_wait_time_mean, avg("skew in start time") AS "skew in start time_mean",
       avg("skew in end time") AS "skew in end time_mean", avg(iif(complete, "algo bw (GB/s)", NULL)) AS "algo bw (GB/s)_mean",
       avg(iif(complete, "bus bw (GB/s)", NULL)) AS "bus bw (GB/s)_mean"
FROM nccl_implicit_sync
GROUP BY "Collective name", dtype, "Full msg size (MB)"
ORDER BY "Total comm latency (ms)" DESC;

-- First row = the rank that others wait for most often, of collectives whose members are all there.
CREATE VIEW straggler_summary AS
WITH arrivals AS (
  SELECT collective_id, rank, wait_time_us, dur, ts,
         rank() OVER (PARTITION BY collective_id ORDER BY ts DESC, rank) AS from_last,
         rank() OVER (PARTITION BY collective_id ORDER BY ts, rank) AS from_first
  FROM nccl_long WHERE wait_time_us IS NOT NULL AND complete)
SELECT rank, sum(wait_time_us) AS total_wait_time_us, avg(wait_time_us) AS mean_wait_time_us,
       sum(from_last = 1) AS times_arrived_last, sum(from_first = 1) AS times_arrived_first,
       100.0 * sum(from_last = 1) / count(*) AS pct_arrived_last, count(*) AS num_collectives, sum(dur) AS total_nccl_dur_us
FROM arrivals GROUP BY rank ORDER BY times_arrived_last DESC, total_wait_time_us;

-- Ascend's step table, over the whole window of each rank: Step is NULL, as there where no step was recorded. Bubble is
-- exposed receiving (of receives that overlap, up to all exposed communication), Stage the rest of the window; Preparing is not separated from Free.
CREATE VIEW cluster_step_trace_time AS
WITH receiving AS (SELECT c.rank, min(sum(c.exposed_ns), max(r.exposed_communication_ns)) AS ns
                   FROM collective_ranks c JOIN ranks r ON r.rank = c.rank WHERE c.op IN ('recv', 'send_recv', 'coalesced') GROUP BY c.rank)
SELECT NULL AS "Step", 'rank' AS "Type", r.rank AS "Index", compute_ns / 1000.0 AS "Computing",
       exposed_communication_ns / 1000.0 AS "Communication(Not Overlapped)",
       (communication_ns - exposed_communication_ns) / 1000.0 AS "Overlapped", communication_ns / 1000.0 AS "Communication",
       idle_ns / 1000.0 AS "Free", (total_ns - coalesce(receiving.ns, 0)) / 1000.0 AS "Stage",
       coalesce(receiving.ns, 0) / 1000.0 AS "Bubble",
       (exposed_communication_ns - coalesce(receiving.ns, 0)) / 1000.0 AS "Communication(Not Overlapped and Exclude Receive)",
       NULL AS "Preparing"
FROM ranks r LEFT JOIN receiving ON receiving.rank = r.rank;
