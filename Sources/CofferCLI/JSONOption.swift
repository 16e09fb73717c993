internal import ArgumentParser

/// `--json`, for commands whose answer a program may read.
struct JSONOption: ParsableArguments {
  @Flag(help: "Answer in JSON, and errors in JSON on standard error.")
  var json = false
}
