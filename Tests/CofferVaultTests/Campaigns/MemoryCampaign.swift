import CofferTestSupport
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite(.tags(.campaign, .process), .wholeRun)
struct MemoryCampaign {
  /// 32 bytes that exist nowhere else.
  private static func canary(_ mark: String) -> String {
    mark + (0..<32 - mark.utf8.count).map { _ in String("abcdefghijklmnopqrstuvwxyz0123456789".randomElement() ?? "x") }.joined()
  }

  @Test func `a locked vault leaves no canary in the whole process`() throws {
    let place = try TemporaryVault()
    _ = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), cost: .testing).lock()
    let (passphrase, value) = (Self.canary("passphrase-"), Self.canary("value-"))
    let process = Process()
    let (input, output) = (Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: TracedTool.path)
    process.arguments = ["canary", place.path.string, try place.keyFile()]
    process.environment = ["SWIFT_BACKTRACE": "enable=no"]
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
    // Pipes are the kernel's: the tool reads from them into guarded memory, and leaves no copy.
    input.fileHandleForWriting.write(Data((passphrase + value).utf8))
    var tally = Tally()
    for (stage, line) in [("while the vault is open", "open 32"), ("after it was locked", "locked")] {
      guard try readLine(output) == line else {
        Issue.record("the tool does not say '\(line)'")
        break
      }
      guard let memory = ProcessMemory(process.processIdentifier) else {
        try Test.skip("the memory of another process cannot be read here")
      }
      #expect(memory.count(of: place.path.string) > 0, "the search finds what is there")
      for (what, text) in [("passphrase", passphrase), ("value", value)] {
        tally.add("\(what), \(stage)", "found \(memory.count(of: text))", allowed: ["found 0"], "\(memory.bytes) bytes")
      }
      input.fileHandleForWriting.write(Data([1]))
    }
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    for (what, text) in [("passphrase", passphrase), ("value", value)] {
      let files = try KeptFiles(place.folder).files.filter { $0.value.range(of: Data(text.utf8)) != nil }
      tally.add("\(what), files", files.isEmpty ? "found 0" : "FOUND", allowed: ["found 0"], "\(files.keys)")
    }
    tally.report("canaries in memory")
  }

  /// The command line's own process, held at its last system call, after its output.
  @Test func `the command that prints a value has wiped it before it ends`() throws {
    try Tracing.need()
    let coffer = URL(filePath: TracedTool.path).deletingLastPathComponent().path + "/coffer"
    guard FileManager.default.isExecutableFile(atPath: coffer) else {
      try Test.skip("no coffer was built beside the tests")
    }
    let place = try TemporaryVault()
    let data = place.folder.appending("data")
    #expect(mkdir(data.string, 0o700) == 0)
    let (passphrase, value) = (Self.canary("passphrase-"), Self.canary("value-"))
    let vault = try UnlockedVault.create(
      at: data.appending("vault.sqlite"), with: Credentials(passphrase: secret(passphrase)), cost: .testing)
    try vault.set(form(value), for: ItemName(service: "svc", account: "canary"))
    _ = try vault.lock()
    let file = place.folder.appending("passphrase").string
    _ = FileManager.default.createFile(atPath: file, contents: Data(passphrase.utf8), attributes: [.posixPermissions: 0o600])
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/strace")
    process.arguments = [
      "-f", "-o", "/dev/null", "-e", "trace=exit_group", "-e", "inject=exit_group:delay_enter=600000000", TracedTool.path,
      "visible",
      coffer, "vault", "get", "svc", "canary",
    ]
    process.environment = [
      "COFFER_HOME": place.folder.string, "COFFER_PASSPHRASE_FILE": file, "HOME": place.folder.string,
      "SWIFT_BACKTRACE": "enable=no",
    ]
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let printed = output.fileHandleForReading.readData(ofLength: value.utf8.count)
    #expect(printed == Data(value.utf8))
    var tally = Tally()
    let children = try String(
      contentsOfFile: "/proc/\(process.processIdentifier)/task/\(process.processIdentifier)/children", encoding: .utf8)
    let child = try #require(children.split(separator: " ").first.flatMap { pid_t($0) })
    // It has printed, and waits in its last call for ten minutes. strace(1) would not let it die earlier.
    func end() {
      for id in [child, process.processIdentifier] where process.isRunning { kill(id, SIGKILL) }
    }
    defer { end() }
    let deadline = Date() + 120
    while Date() < deadline, try !String(contentsOfFile: "/proc/\(child)/syscall", encoding: .utf8).hasPrefix("231 ") {
      usleep(5_000)
    }
    let memory = try #require(ProcessMemory(child))
    #expect(memory.count(of: "canary") > 0, "the search finds what is there")
    for (what, text) in [("passphrase", passphrase), ("value", value)] {
      tally.add(
        "\(what) at the end of coffer get", "found \(memory.count(of: text))", allowed: ["found 0"],
        "\(memory.bytes) bytes")
    }
    end()
    process.waitUntilExit()
    tally.report("canaries in the memory of coffer")
  }

  private func readLine(_ pipe: Pipe) throws -> String {
    var line = ""
    while let byte = try pipe.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 {
      line.unicodeScalars.append(.init(byte))
    }
    return line
  }

  @Test func `too little memory is a named error and never a crash`() throws {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/prlimit") else { try Test.skip(without: "prlimit") }
    let kept = try FaultCampaign.prepared()
    let place = try TemporaryVault()
    let files = try kept.moved(to: place)
    var tally = Tally()
    func run(_ step: String, _ limits: [String], _ group: String) throws {
      try files.put(into: place.folder)
      let tool = TracedTool(place, step)
      let end = try tool.run("/usr/bin/prlimit", limits + [TracedTool.path] + tool.arguments)
      let said = end.output.split(separator: "\n").last.map(String.init) ?? ""
      let outcome =
        end.wasSignalled
        ? "CRASHED \(end.code)"
        : end.code == 0
          ? "done"
          : end.code == 127 ? "not started by the loader" : said.hasPrefix("refused ") ? Self.kind(said) : "UNNAMED \(end.code)"
      // The loader and the runtime run before Coffer can report anything.
      let isRuntime = end.wasSignalled && !end.output.contains("CofferVault")
      let isBad = outcome.hasPrefix("CRASHED") || outcome.hasPrefix("UNNAMED")
      let isAllowed = !isBad || (isRuntime && group.contains("tiny"))
      tally.add("\(step), \(group)", outcome, allowed: isAllowed ? [outcome] : [], "\(limits): \(end.output)")
      #expect(place.answer([:], verifying: false) != "tampered")
    }
    let steps = Campaign.isLong ? ["get", "set", "rotate", "passphrase-get", "slot-remove"] : ["get", "passphrase-get"]
    for step in steps {
      for mebibytes in Campaign.isLong ? Array(stride(from: 16, through: 512, by: 8)) : [128, 512] {
        try run(step, ["--as=\(mebibytes << 20)"], mebibytes < 64 ? "tiny address space" : "little address space")
      }
      // Root may lock any memory unless it lacks that capability.
      let isRoot = geteuid() == 0
      for bytes in Campaign.isLong ? [0, 4096, 16_384, 65_536, 262_144] : [0] {
        try run(
          step, ["--memlock=\(bytes)"] + (isRoot ? ["/usr/bin/setpriv", "--bounding-set=-ipc_lock"] : []), "locked memory limited"
        )
      }
    }
    tally.report("memory limits")
  }

  private static func kind(_ said: String) -> String {
    String(said.dropFirst("refused ".count).prefix { $0 != ":" && $0 != "(" })
  }
}

/// All of a process's memory that a tracer can read, guarded pages too.
struct ProcessMemory {
  private let regions: [Data]
  var bytes: Int { regions.reduce(0) { $0 + $1.count } }

  init?(_ process: pid_t) {
    let descriptor = open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0, let maps = try? String(contentsOfFile: "/proc/\(process)/maps", encoding: .utf8) else { return nil }
    defer { close(descriptor) }
    var found: [Data] = []
    for line in maps.split(separator: "\n") {
      let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt64($0, radix: 16) }
      // Read-only mappings of programs and libraries hold no secrets.
      guard bounds.count == 2, !line.contains("r-xp"), !line.contains("[v"), !line.contains("r--p") else { continue }
      var offset = bounds[0]
      while offset < bounds[1] {
        var chunk = Data(count: Int(min(bounds[1] - offset, 1 << 24)))
        let count = chunk.withUnsafeMutableBytes {
          pread(descriptor, $0.baseAddress, $0.count, off_t(truncatingIfNeeded: offset))
        }
        guard count > 0 else { break }
        found.append(chunk.prefix(count))
        offset += UInt64(count)
      }
    }
    guard !found.isEmpty else { return nil }
    regions = found
  }

  func count(of text: String) -> Int {
    let pattern = Data(text.utf8)
    return regions.reduce(0) { total, region in
      var hits = 0
      var from = region.startIndex
      while let range = region.range(of: pattern, in: from..<region.endIndex) {
        hits += 1
        from = range.upperBound
      }
      return total + hits
    }
  }
}
