package import Coffer
internal import CofferPlatform

/// Its output is in guarded memory. Its standard error goes to the user, unless it is the descriptor of the notes.
package struct CapturedCommand: ~Copyable {
  package let status: Int32
  package let output: SecretBytes
  package let notes: String

  /// The output of a command that prints no secret.
  package var text: String? { output.withUnsafeBytes { PlainBytes.text($0) } }

  package static let notesDescriptor: Int32 = 3
  /// The limit of notes in bytes: gpg writes two short lines for each recipient's key, and the message's author chooses
  /// their number. This is enough for more than ten thousand.
  private static let largestNotes = 1 << 20

  package static func run(_ words: [String]) throws -> CapturedCommand {
    let executable = try Executable.find(ByteWord(words[0]), path: ProcessEnvironment.word("PATH"))
    let command = Child(executable, words.map { ByteWord($0) }, .inherited(ChildEnvironment()), [0: .null])
    return try run(command, words[0], notes: notesDescriptor) { Executable.failure(ByteWord(words[0]), $0) }
  }

  static func run<Failure: Error>(
    _ command: Child, _ name: String, notes descriptor: Int32, or failure: (Int32) -> Failure
  ) throws -> CapturedCommand {
    var command = command
    let (output, notes) = (try Pipe(), try Pipe())
    command.streams.merge([1: .descriptor(output.writing), descriptor: .descriptor(notes.writing)]) { $1 }
    let child = try command.start(or: failure)
    output.closeWriting()
    notes.closeWriting()
    do {
      var printed = try PipeContent(output, limit: SecretReader.largestValue, what: "the output of \(name)")
      var said = try PipeContent(notes, limit: largestNotes, what: "the status of \(name)")
      try PipeContent.fill(&printed, &said)
      let text = try said.bytes().withUnsafeBytes { PlainBytes.text($0) } ?? ""
      return try CapturedCommand(status: Ending(of: child).status, output: printed.bytes(), notes: text)
    } catch {
      kill(child, SIGTERM)
      Ending.discard(child)
      throw error
    }
  }
}

struct PipeContent: ~Copyable {
  private let pipe: Pipe
  private let limit: Int
  private let what: String
  private var buffer: SecretBytes
  private var count = 0
  private var isWhole = false

  private static let firstGuess = 4096

  /// - Parameters:
  ///   - limit: bytes, at most.
  ///   - what: the content, for an error.
  init(_ pipe: Pipe, limit: Int, what: String) throws {
    (self.pipe, self.limit, self.what) = (pipe, limit, what)
    buffer = try SecretBytes(zeros: min(limit + 1, Self.firstGuess))
  }

  /// Reads two pipes to their ends, each as it fills: a program that waits for room in one of them ends neither.
  static func fill(_ first: inout PipeContent, _ second: inout PipeContent) throws {
    while !first.isWhole || !second.isWhole {
      var ends = [first.waiting, second.waiting]
      guard poll(&ends, 2, -1) >= 0 || errno == EINTR else { throw StoreError(errno: errno, "wait for a program", place: "pipe") }
      if ends[0].revents != 0 { try first.take() }
      if ends[1].revents != 0 { try second.take() }
    }
  }

  func bytes() throws -> SecretBytes { try buffer.prefix(count) }

  /// The request for poll(2), which ignores negative descriptors.
  private var waiting: pollfd { pollfd(fd: isWhole ? -1 : pipe.reading, events: Int16(POLLIN), revents: 0) }

  private mutating func take() throws {
    let (descriptor, start, capacity) = (pipe.reading, count, buffer.count)
    let got = buffer.withUnsafeMutableBytes { systemRead(descriptor, $0.baseAddress.map { $0 + start }, capacity - start) }
    guard got >= 0 else {
      guard errno == EINTR else { throw StoreError(errno: errno, "read \(what)", place: "pipe") }
      return
    }
    count += got
    isWhole = got == 0
    guard count == capacity else { return }
    guard count <= limit else {
      throw StoreError(
        .tooLarge(limit: limit), "\(what) is larger than \(limit) bytes", place: "pipe", cure: "store a smaller value")
    }
    var larger = try SecretBytes(zeros: min(limit + 1, capacity * 2))
    buffer.withUnsafeBytes { old in larger.withUnsafeMutableBytes { $0.copyMemory(from: old) } }
    buffer = larger
  }
}
