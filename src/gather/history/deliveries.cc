#include "deliveries.h"

#include "asked.h"
#include "src/gather/process/log.h"

namespace skewscope::gather {

Time Deliveries::since(bool wanted, Time now) {
  const std::lock_guard lock(mutex_);
  if (!wanted) {
    Asked(database_, "DELETE FROM delivering").done();
    if (Asked(database_, "UPDATE delivery SET body='' WHERE body<>''").done())
      dropped_ += static_cast<uint64_t>(sqlite3_changes(database_));
    return now;
  }
  Asked known(database_, "SELECT since FROM delivering");
  if (known.next()) return known.cells().time();
  Asked(database_, "INSERT INTO delivering VALUES (?1)", now).done();
  return now;
}

bool Deliveries::has(const std::string& job, Time created, int generation) const {
  const std::lock_guard lock(mutex_);
  return Asked(database_, "SELECT 1 FROM delivery WHERE job=?1 AND created=?2 AND generation=?3", job, created,
               generation)
      .next();
}

void Deliveries::add(const Delivery& delivery) {
  const std::lock_guard lock(mutex_);
  const bool added =
      Asked(database_,
            "INSERT OR IGNORE INTO delivery (job, created, generation, id, body, queued, due, tries) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 0)",
            delivery.job, delivery.created, delivery.generation, delivery.id, delivery.body, delivery.queued)
          .done();
  if (!added) log_warning("delivery_not_kept", {{"job", delivery.job}, {"err", sqlite3_errmsg(database_)}});
  if (waiting() <= kMostDeliveries) return;
  Asked(database_,
        "UPDATE delivery SET body='' WHERE rowid=(SELECT rowid FROM delivery WHERE body<>'' ORDER BY queued LIMIT 1)")
      .done();
  ++dropped_;
}

std::optional<Delivery> Deliveries::next(Time now, Time latest) const {
  const std::lock_guard lock(mutex_);
  Asked row(database_,
            "SELECT job, created, generation, id, body, queued, tries FROM delivery "
            "WHERE body<>'' AND (due<=?1 OR due>?2) ORDER BY due, rowid LIMIT 1",
            now, latest);
  if (!row.next()) return std::nullopt;
  Cells cells = row.cells();
  Delivery delivery;
  delivery.job = cells.text();
  delivery.created = cells.time();
  delivery.generation = cells.number<int>(1, INT32_MAX);
  delivery.id = cells.text();
  delivery.body = cells.text();
  delivery.queued = cells.time();
  delivery.tries = cells.number<int>(0, INT32_MAX);
  return delivery;
}

bool Deliveries::close(const Delivery& delivery) {
  const std::lock_guard lock(mutex_);
  return Asked(database_, "UPDATE delivery SET body='' WHERE job=?1 AND created=?2 AND generation=?3", delivery.job,
               delivery.created, delivery.generation)
      .done();
}

bool Deliveries::delivered(const Delivery& delivery) {
  ++delivered_;
  return close(delivery);
}

bool Deliveries::drop(const Delivery& delivery) {
  ++dropped_;
  return close(delivery);
}

bool Deliveries::try_again(const Delivery& delivery, Time due) {
  ++failed_tries_;
  const std::lock_guard lock(mutex_);
  return Asked(database_, "UPDATE delivery SET due=?4, tries=tries+1 WHERE job=?1 AND created=?2 AND generation=?3",
               delivery.job, delivery.created, delivery.generation, due)
      .done();
}

void Deliveries::forget(Time before) {
  const std::lock_guard lock(mutex_);
  Asked(database_, "DELETE FROM delivery WHERE body='' AND queued<?1", before).done();
  Asked(database_, "UPDATE delivering SET since=max(since, ?1)", before).done();
}

uint64_t Deliveries::waiting() const {
  Asked count(database_, "SELECT count(*) FROM delivery WHERE body<>''");
  return count.next() ? static_cast<uint64_t>(count.cells().number()) : 0;
}

Deliveries::Figures Deliveries::figures() const {
  const std::lock_guard lock(mutex_);
  return {waiting(), delivered_, dropped_, failed_tries_};
}

}  // namespace skewscope::gather
