// A loss that no trained parameter reaches is an error; a comparison passes no derivative on.
// RUN: halfstep-opt %s --autodiff --verify-diagnostics

module {
  // expected-error @below {{no trained parameter reaches the loss}}
  // expected-note @below {{help: check --train and --freeze}}
  func.func @micro(%w: tensor<f32> {train.parameter = "w", train.trainable})
      -> (tensor<f32> {train.metric = "loss"}) {
    %c = train.compare lt %w, %w : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = train.cast %c to f32 : (tensor<i1>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
