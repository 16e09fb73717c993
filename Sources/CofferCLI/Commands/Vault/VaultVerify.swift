internal import ArgumentParser
internal import Coffer

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

struct VaultVerify: Command {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Check every record of the vault; nothing is decrypted.")

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let vault = try session.unlockedVault(unlocking)
    let progress = Progress(isShown: !session.quiet && !output.json && isatty(STDERR_FILENO) == 1)
    defer { progress.clear() }
    let report = try vault.verify(progress: progress.show)
    progress.clear()
    if output.json { return try Output.line(JSONText.encode(["records": report.records, "buckets": report.buckets])) }
    try Output.line("\(report.records) records are where and what they were when they were sealed")
  }
}

/// A line on a terminal that counts.
final class Progress {
  private let isShown: Bool
  private var lastPercent = -1

  init(isShown: Bool) { self.isShown = isShown }

  func show(_ done: Int, _ total: Int) {
    guard isShown, total > 0, case let percent = done * 100 / total, percent != lastPercent else { return }
    lastPercent = percent
    put("\r\(percent) % of \(total)")
  }

  func clear() {
    guard isShown, lastPercent >= 0 else { return }
    lastPercent = -1
    put("\r\u{1B}[K")
  }

  private func put(_ text: String) {
    text.utf8Span.span.bytes.withUnsafeBytes { raw in do throws(Failure) { try Output.write(raw, to: STDERR_FILENO) } catch {} }
  }
}

struct VaultStatusCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Print what the unlocked vault says of itself.")

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let vault = try session.unlockedVault(unlocking)
    let answer = Answer(vault.path.string, vault.id, try vault.status())
    if output.json { return try Output.line(JSONText.encode(answer)) }
    var rows = [
      ["vault", answer.path], ["id", answer.id], ["items", String(answer.items)], ["generation", String(answer.generation)],
      ["epoch", String(answer.epoch)], ["created", answer.created], ["rotated", answer.rotated],
    ]
    rows += answer.slots.map { ["slot", $0.id, $0.opens, $0.label] }
    try Output.line(Columns.align(rows))
  }

  private struct Answer: Encodable {
    let path: String, id: String, items: Int, generation: UInt64, epoch: UInt64, created: String, rotated: String
    let slots: [Slot]
    struct Slot: Encodable { let id: String, opens: String, label: String, passes: UInt32, mebibytes: UInt32 }

    init(_ path: String, _ id: VaultID, _ status: VaultStatus) {
      self.path = path
      self.id = id.description
      items = status.items
      generation = status.generation
      epoch = status.epoch
      created = Moment.text(status.created)
      rotated = Moment.text(status.rotated)
      slots = status.slots.map { slot in
        Slot(
          id: slot.summary.id.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined(),
          opens: slot.summary.kind.name, label: slot.label, passes: slot.summary.passes, mebibytes: slot.summary.mebibytes)
      }
    }
  }
}
