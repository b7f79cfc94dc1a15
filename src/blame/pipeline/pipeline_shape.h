// Which ranks form pipelines, in which order, and what passes through them between two flushes.
//
// Problem: nothing in a trace says "pipeline"; rings of context parallelism, halo exchanges and all-to-alls of sends
// and receives look alike from afar. Idea: messages say it.
//   Who sends to whom: the ranks joined by messages, directly or through others, are a path with equal numbers both
//     ways, or a circle where one edge has fewer messages than the others, those alike, both ways: between the last
//     rank and the first of ranks with several stages each. A ring hands on the same at every edge.
//   Which end is the first stage: it sends before anything has come, and the last one only afterwards. Neighbours that
//     exchange at once, on a line or in a circle, have no such ends.
//   How many micro-batches: what the first stage sends to the second until all of it has come back, v times as many
//     with v stages per rank; or what goes from rank to rank within a step, which tells it even where messages are
//     lost. Two ranks have one edge for all stages: there the work in front of the last rank's messages tells v, which
//     is that of F, F + B and B passes in turn where v is above 1.
// All pipelines of an island must agree, or nothing is claimed; so too where a neighbour has no trace. Cost: O(messages
// log messages).
#pragma once

#include <optional>

#include "messages.h"
#include "pipeline_play.h"

namespace skewscope::blame {

// What a rank does between two flushes.
struct MessageRound {
  size_t first = 0, end = 0;  // in PipelineRank::events
};

struct PipelineRank {
  TraceIndex trace;
  std::vector<MessageEvent> events;  // in the order of its program
  std::vector<MessageRound> rounds;  // those that are whole
  double flushes = 0;                // by the number of its messages
};

struct PipelineShape {
  PipelinePlan plan;
  std::vector<std::vector<PipelineRank>> pipelines;  // [pipeline][position]
};

// nullopt: no pipeline, or not clearly one.
std::optional<PipelineShape> pipeline_shape(const ReplayPlan& plan, int32_t island);

}  // namespace skewscope::blame
