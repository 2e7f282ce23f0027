#pragma once

#include "cuda/context.h"

namespace fusednn::cuda {

/// A stream of our own. Work for users runs on theirs.
class Stream {
 public:
  static base::Result<Stream> create(std::shared_ptr<PrimaryContext const> context);
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&&) = delete;

  RawStream raw() const { return stream_; }
  base::Status synchronize() const;

 private:
  Stream(std::shared_ptr<PrimaryContext const> context, RawStream stream)
      : context_(std::move(context)), stream_(stream) {}

  std::shared_ptr<PrimaryContext const> context_;
  RawStream stream_;
};

/// A point in a stream whose time is taken.
class Event {
 public:
  static base::Result<Event> create(std::shared_ptr<PrimaryContext const> context);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&&) = delete;

  base::Status record(RawStream stream) const;
  /// Waits for this event and returns the seconds since `start`.
  base::Result<double> seconds_since(Event const& start) const;

 private:
  Event(std::shared_ptr<PrimaryContext const> context, RawEvent event) : context_(std::move(context)), event_(event) {}

  std::shared_ptr<PrimaryContext const> context_;
  RawEvent event_;
};

/// Whether work for `context` may be enqueued on `stream`.
base::Status check_stream(PrimaryContext const& context, RawStream stream);

}  // namespace fusednn::cuda
