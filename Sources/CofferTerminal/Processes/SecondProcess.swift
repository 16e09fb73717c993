package import CofferPlatform
internal import SystemPackage

package enum SecondProcess {
  /// Runs `coffer` with `arguments`, only `environment`, and an empty standard input. Its messages are the notes.
  package static func run(_ arguments: [String], environment: [ByteWord] = Self.environment) throws -> CapturedCommand {
    try CapturedCommand.run(child(arguments, environment, [0: .null]), "coffer", notes: STDERR_FILENO) {
      StoreError(errno: $0, "start a second process", place: FilePath(executable))
    }
  }

  package static func child(_ arguments: [String], _ environment: [ByteWord], _ streams: [Int32: Child.Stream]) -> Child {
    Child(ByteWord(executable), (["coffer"] + arguments).map { ByteWord($0) }, .exactly(environment), streams)
  }

  #if os(Linux)
    // Names this very program, even after a replacement of its file.
    package static let executable = "/proc/self/exe"
  #else
    package static let executable = CommandLine.arguments[0]
  #endif

  package static func path() throws(StoreError) -> String {
    guard let path = GivenPath.realPath(FilePath(executable)) else {
      throw StoreError(errno: errno, "find this program's file", place: FilePath(executable))
    }
    return path
  }

  package static var environment: [ByteWord] { ProcessEnvironment.entries(["PATH", "HOME", "TMPDIR", "LANG"]) }
}
