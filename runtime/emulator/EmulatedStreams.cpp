//===- EmulatedStreams.cpp - The emulated driver: streams, events, graphs ---------------------===//

#include "runtime/emulator/Emulation.h"

namespace halfstep::runtime {

using namespace cuda;
using Needs = Emulation::Needs;

namespace {

Result createStream(Stream *stream, unsigned flags) {
  return emulation().enter(Needs::Context, [&] {
    if (!stream || (flags & ~streamNonBlocking))
      return errorInvalidValue;
    uint32_t index = emulation().device->streams.create(flags != streamNonBlocking);
    *stream = emulation().streams.add({index, std::nullopt});
    return success;
  });
}

// What is in the stream still runs.
Result destroyStream(Stream stream) {
  return emulation().enterToFree([&]() -> Result {
    Emulation::StreamState *state = emulation().streams.find(stream);
    if (!state)
      return errorInvalidHandle;
    if (state->capture)
      return Emulation::invalidate(*state->capture);
    emulation().streams.erase(stream);
    return success;
  });
}

Result synchroniseStream(Stream stream) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    Emulation::StreamState *state = emulation().stream(stream);
    if (!state)
      return errorInvalidHandle;
    if (state->capture)
      return Emulation::invalidate(*state->capture);
    Streams &streams = emulation().device->streams;
    streams.synchronise(streams.last(state->index));
    return success;
  });
}

Result createEvent(Event *event, unsigned flags) {
  return emulation().enter(Needs::Context, [&] {
    constexpr unsigned known = 3; // blocking synchronisation, no timing
    if (!event || (flags & ~known))
      return errorInvalidValue;
    *event = emulation().events.add({});
    return success;
  });
}

Result destroyEvent(Event event) {
  return emulation().enterToFree(
      [&] { return emulation().events.erase(event) ? success : errorInvalidHandle; });
}

Result recordEvent(Event event, Stream stream) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    Emulation::EventState *recorded = emulation().events.find(event);
    Emulation::StreamState *state = emulation().stream(stream);
    if (!recorded || !state)
      return errorInvalidHandle;
    if (!state->capture) {
      *recorded = {emulation().device->streams.last(state->index), 0};
      return success;
    }
    if (state->capture->isInvalid)
      return errorStreamCaptureInvalidated;
    *recorded = {std::nullopt, state->capture->number};
    return success;
  });
}

Result synchroniseEvent(Event event) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    Emulation::EventState *recorded = emulation().events.find(event);
    if (!recorded)
      return errorInvalidHandle;
    if (recorded->capture) {
      emulation().refuseWhileCapturing();
      return errorCapturedEvent;
    }
    if (recorded->moment)
      emulation().device->streams.synchronise(*recorded->moment);
    return success;
  });
}

// Within a capture, an event of that capture says nothing that the stream's own order does not.
Result waitForEvent(Stream stream, Event event, unsigned flags) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    Emulation::EventState *recorded = emulation().events.find(event);
    Emulation::StreamState *state = emulation().stream(stream);
    if (!recorded || !state)
      return errorInvalidHandle;
    if (flags != 0)
      return errorInvalidValue;
    if (!state->capture) {
      if (recorded->capture)
        return errorStreamCaptureIsolation;
      if (recorded->moment)
        emulation().device->streams.wait(state->index, *recorded->moment);
      return success;
    }
    if (state->capture->isInvalid)
      return errorStreamCaptureInvalidated;
    if (recorded->capture == state->capture->number)
      return success;
    Emulation::invalidate(*state->capture);
    return errorStreamCaptureIsolation;
  });
}

Result beginCapture(Stream stream, unsigned mode) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    Emulation::StreamState *state = emulation().stream(stream);
    if (!state)
      return errorInvalidHandle;
    if (mode != captureThreadLocal)
      return errorInvalidValue;
    if (!stream)
      return errorStreamCaptureUnsupported;
    if (state->capture)
      return errorIllegalState;
    state->capture =
        Emulation::Capture{++emulation().captures, std::this_thread::get_id(), false, {}};
    return success;
  });
}

Result endCapture(Stream stream, Graph *graph) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    Emulation::StreamState *state = emulation().stream(stream);
    if (!state)
      return errorInvalidHandle;
    if (!graph)
      return errorInvalidValue;
    if (!state->capture)
      return errorIllegalState;
    if (state->capture->thread != std::this_thread::get_id())
      return errorStreamCaptureWrongThread;
    Emulation::Capture capture = std::move(*state->capture);
    state->capture.reset();
    *graph = nullptr;
    if (capture.isInvalid)
      return errorStreamCaptureInvalidated;
    *graph = emulation().graphs.add({std::move(capture.work)});
    return success;
  });
}

Result instantiateGraph(GraphExec *exec, Graph graph, unsigned long long flags) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    Emulation::GraphState *state = emulation().graphs.find(graph);
    if (!state)
      return errorInvalidHandle;
    if (!exec || flags != 0)
      return errorInvalidValue;
    *exec = emulation().graphExecs.add(*state);
    return success;
  });
}

Result launchGraph(GraphExec exec, Stream stream) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    Emulation::GraphState *graph = emulation().graphExecs.find(exec);
    Emulation::StreamState *state = emulation().stream(stream);
    if (!graph || !state)
      return errorInvalidHandle;
    if (state->capture)
      return Emulation::invalidate(*state->capture);
    for (const Emulation::Work &work : graph->work)
      if (Result result = emulation().submit(stream, work))
        return result;
    return success;
  });
}

Result destroyGraph(Graph graph) {
  return emulation().enterToFree(
      [&] { return emulation().graphs.erase(graph) ? success : errorInvalidHandle; });
}

Result destroyGraphExec(GraphExec exec) {
  return emulation().enterToFree(
      [&] { return emulation().graphExecs.erase(exec) ? success : errorInvalidHandle; });
}

} // namespace

void setStreamFunctions(Driver &driver) {
  driver.cuStreamCreate = createStream;
  driver.cuStreamDestroy = destroyStream;
  driver.cuStreamSynchronize = synchroniseStream;
  driver.cuStreamWaitEvent = waitForEvent;
  driver.cuStreamBeginCapture = beginCapture;
  driver.cuStreamEndCapture = endCapture;
  driver.cuEventCreate = createEvent;
  driver.cuEventRecord = recordEvent;
  driver.cuEventSynchronize = synchroniseEvent;
  driver.cuEventDestroy = destroyEvent;
  driver.cuGraphInstantiateWithFlags = instantiateGraph;
  driver.cuGraphLaunch = launchGraph;
  driver.cuGraphExecDestroy = destroyGraphExec;
  driver.cuGraphDestroy = destroyGraph;
}

} // namespace halfstep::runtime
