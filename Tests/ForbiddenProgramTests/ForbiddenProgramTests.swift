import CofferTestSupport
import Testing

@Suite(.serialized, .tags(.process), .defaultRun)
struct ForbiddenProgramTests {
  @Test func `what the types forbid does not compile, with the sentence that says what to do`() throws {
    try expectRefusals(of: ForbiddenProgram.typed, with: ["-typecheck"])
  }

  @Test func `what the handles forbid does not compile, with the sentence that says what to do`() throws {
    try expectRefusals(of: ForbiddenProgram.values, with: ["-typecheck"])
  }

  @Test func `what ownership forbids does not compile`() throws {
    try expectRefusals(of: ForbiddenProgram.owned, with: ["-emit-sil", "-o", "/dev/null"])
  }

  @Test func `the allowed spelling of each does compile`() throws {
    let programs = ForbiddenProgram.typed + ForbiddenProgram.values + ForbiddenProgram.owned
    let verdicts = try Compiler.verdicts(on: Self.files(programs.map(\.allowed)), with: ["-emit-sil", "-o", "/dev/null"])
    for (program, verdict) in zip(programs, verdicts) {
      #expect(verdict.errors == [], "the program allowed beside: \(program)")
    }
  }

  private func expectRefusals(of programs: [ForbiddenProgram], with stage: [String]) throws {
    let verdicts = try Compiler.verdicts(on: Self.files(programs.map(\.forbidden)), with: stage)
    for (index, (program, verdict)) in zip(programs, verdicts).enumerated() {
      // Each file's declarations are in a type P0, P1…: sentences say P.
      let errors = verdict.errors.map { $0.replacing("P\(index).", with: "P.") }
      #expect(!errors.isEmpty, "compiles: \(program)")
      #expect(errors.contains { $0.contains(program.sentence) }, "\(program): \(errors)")
    }
  }

  private static func files(_ bodies: [String]) -> [String] {
    bodies.enumerated().map { ForbiddenProgram.file("P\($0)", $1) }
  }
}
