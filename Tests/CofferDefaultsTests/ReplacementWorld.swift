import CofferTestSupport
import Foundation
import SystemPackage

/// A domain in `config`, three processes that write their own names with increasing numbers, one that reads, stepped through
/// their input, and a parallel shell.
final class ReplacementWorld {
  let folder: TemporaryFolder
  private let seats: [Tool]
  private var random: Random
  private var numbers = [0, 0, 0]
  /// The expected value of each name; nil after `.moved` named it, or if a failed call may have set it.
  private var expected: [String: Int?] = [:]
  private(set) var trace: [String] = []
  private(set) var failures: [String] = []
  private(set) var counts: [String: Int] = [:]
  /// Whether a tool wrote a file in place while the processes ran: they may meet a torn file and report damage.
  private var mayBeDamaged = false
  private(set) var isDamaged = false

  init(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    self.folder = folder
    random = Random(seed: seed)
    try FileManager.default.createDirectory(atPath: folder.file("config").string, withIntermediateDirectories: false)
    seats = try (0..<4).map { _ in try Self.seat(folder) }
    for seat in seats where seat.firstLine() != "ready" { failures.append("a process did not begin") }
  }

  deinit { for seat in seats { seat.kill() } }

  private static func seat(_ folder: TemporaryFolder) throws -> Tool {
    try Tool("stepped", folder, arguments: [folder.decisions.string], place: folder.file("config"), hasInput: true)
  }

  private func fail(_ what: String) {
    if mayBeDamaged, what.contains("error damaged") { isDamaged = true } else { failures.append(what) }
  }
  private func count(_ what: String) { counts[what, default: 0] += 1 }

  private func ask(_ seat: Int, _ line: String) -> String {
    guard seats[seat].process.isRunning else { return "died" }
    seats[seat].send(line + "\n")
    let answer = seats[seat].firstLine()
    trace.append("\(seat) \(line): \(answer.prefix(300))")
    if answer.isEmpty {
      seats[seat].process.waitUntilExit()
      fail("process \(seat) died of \(seats[seat].process.terminationStatus) at \(line)")
      return "died"
    }
    return answer
  }

  // MARK: Steps

  /// One call of a writer, or a read.
  ///
  /// - Parameter isBusy: whether files are being replaced, so that some may be missing or half written.
  func step(_ writer: Int, isBusy: Bool = false) {
    switch Int.random(in: 0..<10, using: &random) {
    case 0: take(ask(writer, "synchronize"), [:], writer, isBusy)
    case 1:
      let answer = ask(3, "read")
      if answer.hasPrefix("error"), !isBusy { fail("a reader says \(answer)") }
    case 2, 3:
      numbers[writer] += 1
      let names = ["p\(writer)", "q\(writer)"]
      take(
        ask(writer, "transact \(names[0]) \(names[1]) \(numbers[writer])"),
        Dictionary(uniqueKeysWithValues: names.map { ($0, numbers[writer]) }), writer, isBusy)
    default:
      numbers[writer] += 1
      let name = "n\(writer)\(Int.random(in: 0..<3, using: &random))"
      take(ask(writer, "set \(name) \(numbers[writer])"), [name: numbers[writer]], writer, isBusy)
    }
  }

  func steps(_ count: Int) { for number in 0..<count * 3 { step(number % 3) } }

  private func take(_ answer: String, _ change: [String: Int], _ writer: Int, _ isBusy: Bool) {
    let words = answer.split(separator: " ").map(String.init)
    switch words.first {
    case "done":
      count("acknowledged")
      for (name, number) in change { expected[name] = number }
    case "moved":
      count("moved")
      if words.count == 1 { fail("writer \(writer): .moved names nothing") }
      for name in words.dropFirst() { expected[name] = .some(nil) }
    case "error" where isBusy || words[1] == "busy:":
      count("errors while files were replaced")
      for name in change.keys { expected[name] = .some(nil) }
    case "died": break
    default: fail("writer \(writer) says \(answer)")
    }
  }

  // MARK: What the shell does

  func run(_ script: String, whileStopped isStopped: Bool) throws {
    let shell = Process()
    shell.executableURL = URL(filePath: "/bin/sh")
    shell.arguments = ["-ec", "exec 2>errors\n" + script]
    shell.currentDirectoryURL = URL(filePath: folder.path.string)
    shell.standardOutput = FileHandle.nullDevice
    if isStopped { for seat in seats { Foundation.kill(seat.process.processIdentifier, SIGSTOP) } }
    trace.append("\(isStopped ? "stopped" : "busy"): \(script)")
    if !isStopped { mayBeDamaged = true }
    try shell.run()
    var turn = 0
    while !isStopped, shell.isRunning, failures.isEmpty {
      step(turn % 3, isBusy: true)
      turn += 1
    }
    shell.waitUntilExit()
    if isStopped { for seat in seats { Foundation.kill(seat.process.processIdentifier, SIGCONT) } }
    // Not a pipe: a process that another test starts now may have its end too, and never close it.
    if shell.terminationStatus != 0, isStopped {
      fail("the shell: \(String(decoding: try folder.bytes(of: "errors"), as: UTF8.self))")
    }
    // A tool may give up if files come and go meanwhile; its effects until then count.
    if shell.terminationStatus != 0, !isStopped { count("tools that gave up") }
  }

  // MARK: What has to be there

  /// Synchronizes each writer until it reports nothing more, and compares with a new process.
  ///
  /// - Parameter isWhole: whether each acknowledged value is there or was named.
  func settle(isWhole: Bool) throws {
    for writer in [0, 1, 2, 0, 1, 2] {
      var (answer, tries) = ("", 0)
      repeat {
        answer = ask(writer, "synchronize")
        take(answer, [:], writer, false)
        tries += 1
      } while answer != "done" && tries < 5 && failures.isEmpty && !isDamaged
      if tries == 5 { fail("writer \(writer) does not come to an end: \(answer)") }
    }
    if isDamaged { return }
    let newcomer = try Self.seat(folder)
    _ = newcomer.firstLine()
    newcomer.send("read\n")
    let there = newcomer.firstLine()
    var (read, looks) = (ask(3, "read"), 0)
    newcomer.kill()
    if there.hasPrefix("error") { return fail("a newcomer says \(there)") }
    if read.hasPrefix("error") { return fail("a reader says \(read)") }
    while Set(there.split(separator: " ")) != Set(read.split(separator: " ")), looks < 300 {
      usleep(10_000)  // No event: who reads looks each 100 ms.
      (read, looks) = (ask(3, "read"), looks + 1)
    }
    if Set(there.split(separator: " ")) != Set(read.split(separator: " ")) {
      fail("the reader has \(read), and a newcomer \(there)")
    }
    let pairs = there.split(separator: " ").dropFirst().map { $0.split(separator: "=") }
    let values = Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), Int($0[1]) ?? -1) })
    for writer in 0..<3 where values["p\(writer)"] != values["q\(writer)"] { fail("a transaction is torn: \(there)") }
    for (name, number) in expected.sorted(by: { $0.key < $1.key }) {
      if let number, values[name] != number, isWhole {
        fail("\(name) is \(values[name] ?? 0) and not \(number), and nobody was told")
      }
      expected[name] = values[name]
    }
  }
}
