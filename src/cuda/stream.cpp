#include "cuda/stream.h"

#include <fmt/format.h>

#include <utility>

namespace fusednn::cuda {

base::Result<Stream> Stream::create(std::shared_ptr<PrimaryContext const> context) {
  Driver const& driver = context->driver();
  ContextScope scope(*context);
  RawStream stream = nullptr;
  if (DriverCode code = driver.stream_create(&stream, stream_non_blocking)) return driver.error(code, "cuStreamCreate");
  return Stream(std::move(context), stream);
}

Stream::Stream(Stream&& other) noexcept
    : context_(std::move(other.context_)), stream_(std::exchange(other.stream_, nullptr)) {}

Stream::~Stream() {
  if (!stream_) return;
  RelaxedCapture relaxed(context_->driver());
  context_->driver().stream_destroy(stream_);
}

base::Status Stream::synchronize() const {
  ContextScope scope(*context_);
  return context_->driver().check(context_->driver().stream_synchronize(stream_), "cuStreamSynchronize");
}

base::Result<Event> Event::create(std::shared_ptr<PrimaryContext const> context) {
  Driver const& driver = context->driver();
  ContextScope scope(*context);
  RawEvent event = nullptr;
  if (DriverCode code = driver.event_create(&event, 0)) return driver.error(code, "cuEventCreate");
  return Event(std::move(context), event);
}

Event::Event(Event&& other) noexcept
    : context_(std::move(other.context_)), event_(std::exchange(other.event_, nullptr)) {}

Event::~Event() {
  if (event_) context_->driver().event_destroy(event_);
}

base::Status Event::record(RawStream stream) const {
  ContextScope scope(*context_);
  return context_->driver().check(context_->driver().event_record(event_, stream), "cuEventRecord");
}

base::Result<double> Event::seconds_since(Event const& start) const {
  Driver const& driver = context_->driver();
  ContextScope scope(*context_);
  if (DriverCode code = driver.event_synchronize(event_)) return driver.error(code, "cuEventSynchronize");
  float milliseconds = 0;
  if (DriverCode code = driver.event_elapsed(&milliseconds, start.event_, event_))
    return driver.error(code, "cuEventElapsedTime");
  return 1e-3 * milliseconds;
}

base::Status check_stream(PrimaryContext const& context, RawStream stream) {
  // 0, 1 and 2 stand for the default streams of whatever context is current.
  if (reinterpret_cast<uintptr_t>(stream) <= 2) return base::success();
  RawContext of = nullptr;
  // While the stream is captured the driver may not say, which is no reason to refuse it.
  if (context.driver().stream_context(stream, &of) == code::success && of != context.raw())
    return base::make_error(
        base::Rule::handle_stream, {},
        fmt::format("the stream is not of the primary context of CUDA device {}", context.ordinal()));
  return base::success();
}

}  // namespace fusednn::cuda
