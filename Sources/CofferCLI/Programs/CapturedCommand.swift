internal import Coffer
internal import CofferPlatform
internal import SystemPackage

/// Another program that was run for its output, which goes to guarded memory. What it says on standard error is the user's to see.
struct CapturedCommand: ~Copyable {
  let status: Int32
  let output: SecretBytes
  /// What it wrote to ``notesDescriptor``: lines for programs, of which a pipe's capacity is enough.
  let notes: String

  /// Where a program that has more to tell than its status may write it.
  static let notesDescriptor: Int32 = 3

  /// - Throws: a failure of status 126 or 127 where the program could not be started.
  static func run(_ words: [String]) throws -> CapturedCommand {
    let executable = try Executable.find(ByteWord(words[0]), path: ProcessEnvironment.word("PATH"))
    let (output, notes) = (try Pipe(), try Pipe())
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    // Through a number that is neither, because a pipe's end may have the very number that the other one gets.
    let free = max(output.writing, notes.writing, notesDescriptor) + 1
    posix_spawn_file_actions_adddup2(&actions, notes.writing, free)
    posix_spawn_file_actions_adddup2(&actions, output.writing, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, free, notesDescriptor)
    posix_spawn_file_actions_addclose(&actions, free)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &pipe)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    var child: pid_t = 0
    let code = CStrings.lend(words) { argv in
      ChildEnvironment().lend { envp in
        executable.withCString { posix_spawn(&child, $0, &actions, &attributes, argv, envp) }
      }
    }
    guard code == 0 else { throw Executable.failure(ByteWord(words[0]), code) }
    output.closeWriting()
    notes.closeWriting()
    let limit = SecretReader.largestValue
    let (reading, noting) = (output.reading, notes.reading)
    do {
      let printed = try SecretReader.read(reading, limit: limit, what: "the output of \(words[0])", place: "pipe")
      let said = try SecretReader.read(noting, limit: limit, what: "the notes of \(words[0])", place: "pipe")
      let text = said.withUnsafeBytes { PlainBytes.text($0) } ?? ""
      return CapturedCommand(status: wait(child), output: printed, notes: text)
    } catch {
      kill(child, SIGTERM)
      _ = wait(child)
      throw error
    }
  }

  private static func wait(_ child: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
  }
}
