package import Coffer
package import CofferPlatform
internal import SystemPackage

/// This program, started again.
package enum SecondProcess {
  package struct Answer: ~Copyable {
    package let status: Int32
    package let output: SecretBytes
    package let messages: String

    /// The output of a command that prints no secret.
    package var text: String? { output.withUnsafeBytes { PlainBytes.text($0) } }
  }

  /// Runs `coffer` with `arguments`, nothing on standard input, and of this program's variables none but `environment`.
  package static func run(_ arguments: [String], environment: [ByteWord] = Self.environment) throws -> Answer {
    let output = try Pipe()
    let messages = try Pipe()
    let child = try start(arguments, environment, output: output.writing, messages: messages.writing)
    output.closeWriting()
    messages.closeWriting()
    // Both are far below a pipe's capacity for the commands of a tour, so one after the other cannot block.
    let printed = try SecretReader.read(output.reading, limit: SecretReader.largestValue, what: "the output", place: "pipe")
    let said = try SecretReader.read(messages.reading, limit: SecretReader.largestValue, what: "the messages", place: "pipe")
    let text = said.withUnsafeBytes { PlainBytes.text($0) } ?? ""
    return Answer(status: try Ending(of: child).status, output: printed, messages: text.trimmedEnd)
  }

  private static func start(_ arguments: [String], _ environment: [ByteWord], output: Int32, messages: Int32) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO)
    var child: pid_t = 0
    let status = SpawnAttributes.lend { attributes in
      CStrings.lend(["coffer"] + arguments) { argv in
        CStrings.lend(environment) { posix_spawn(&child, executable, &actions, attributes, argv, $0) }
      }
    }
    guard status == 0 else { throw StoreError(errno: status, "start a second process", place: FilePath(executable)) }
    return child
  }

  #if os(Linux)
    // Names this very program, even if its file was replaced meanwhile.
    package static let executable = "/proc/self/exe"
  #else
    package static let executable = CommandLine.arguments[0]
  #endif

  /// The path of this program's file.
  package static func path() throws(StoreError) -> String {
    guard let path = realpath(executable, nil) else {
      throw StoreError(errno: errno, "find this program's file", place: FilePath(executable))
    }
    defer { free(path) }
    return String(cString: path)
  }

  package static var environment: [ByteWord] { ProcessEnvironment.entries(["PATH", "HOME", "TMPDIR", "LANG"]) }
}
