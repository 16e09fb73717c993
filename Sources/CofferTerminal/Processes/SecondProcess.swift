package import Coffer
package import CofferPlatform
internal import SystemPackage

package enum SecondProcess {
  package struct Answer: ~Copyable {
    package let status: Int32
    package let output: SecretBytes
    package let messages: String

    /// The output of a command that prints no secret.
    package var text: String? { output.withUnsafeBytes { PlainBytes.text($0) } }
  }

  /// Runs `coffer` with `arguments`, only `environment`, and an empty standard input.
  package static func run(_ arguments: [String], environment: [ByteWord] = Self.environment) throws -> Answer {
    let output = try Pipe()
    let messages = try Pipe()
    let child = try child(
      arguments, environment, [0: .null, 1: .descriptor(output.writing), 2: .descriptor(messages.writing)]
    ).start { StoreError(errno: $0, "start a second process", place: FilePath(executable)) }
    output.closeWriting()
    messages.closeWriting()
    // For the commands of a tour both fit a pipe, so reading them in turn cannot block.
    let printed = try SecretReader.read(output.reading, limit: SecretReader.largestValue, what: "the output", place: "pipe")
    let said = try SecretReader.read(messages.reading, limit: SecretReader.largestValue, what: "the messages", place: "pipe")
    let text = said.withUnsafeBytes { PlainBytes.text($0) } ?? ""
    return Answer(status: try Ending(of: child).status, output: printed, messages: text.trimmedEnd)
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
    guard let path = realpath(executable, nil) else {
      throw StoreError(errno: errno, "find this program's file", place: FilePath(executable))
    }
    defer { free(path) }
    return String(cString: path)
  }

  package static var environment: [ByteWord] { ProcessEnvironment.entries(["PATH", "HOME", "TMPDIR", "LANG"]) }
}
