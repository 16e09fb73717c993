/// A process that a client works for.
package struct Behalf: Sendable, Equatable {
  let process: UInt32
  let program: String

  package init(process: UInt32, program: String) {
    self.process = process
    self.program = program
  }
}
