//===- ShapeInference.h - The shapes of a graph, derived twice ------------===//
//
// The import derives the shape of every value by the rules of the train dialect's ops, onnx by its
// own. The two have to agree: what differs is a fault in one of them, or a file whose numbers would
// mean something else to another reader of it.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_SHAPEINFERENCE_H
#define HALFSTEP_FRONTEND_SHAPEINFERENCE_H

#include "frontend/OnnxFile.h"
#include "frontend/OpBinder.h"

namespace halfstep {

/// Shapes that the file states beside its inputs follow from them, and exporters write them wrong
/// or not at all. Those of the outputs become what was imported, the others go.
void stateShapes(OnnxFile &file, GraphScope &scope);

/// Runs onnx's shape inference over the graph, whose values `scope` has the types of, and compares
/// where both have one.
llvm::LogicalResult compareWithInference(OnnxFile &file, GraphScope &scope);

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_SHAPEINFERENCE_H
