internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct OneTimeCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "otp", abstract: "Print the one-time code of an item.",
    discussion: """
      The item's field 'otpauth' holds what makes the codes: --set stores it from standard input or a prompt, as the otpauth:// \
      URI of a QR code or the secret beside it. Exactly the code goes to a pipe; a terminal is told how long it is good for.
      """, aliases: ["totp"])

  @OptionGroup var item: ItemArguments
  @Flag(name: .customLong("set"), help: "Store what makes the codes, in place of printing one.") var stores = false
  @OptionGroup(title: "Clipboard") var clipboard: ClipboardOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !stores || !clipboard.clip else { throw ValidationError("--set stores, and --clip takes a code: give one of them") }
    try clipboard.check(json: options.json)
  }

  private var usesStandardInput: Bool { stores && isatty(STDIN_FILENO) == 0 }

  func claimInput(_ context: Context) throws {
    if usesStandardInput { try context.input.claim(for: "the one-time password's secret") }
  }

  func perform(_ context: Context) throws {
    if stores || item.isNamed { try item.check() }
    guard !stores else { return try store(context) }
    let clipboard = try clipboard.open()
    let items = try context.itemsToRead()
    let found =
      item.isNamed ? try item.item(in: items) : try items.pick("show the code", codesOnly: true, with: self.clipboard, context)
    guard let name = found?.name else { return }
    let code = try items.oneTimePassword(of: name).code(at: Date())
    if let clipboard { return try clipboard.copy(code.text, "the code of \(name)", context) }
    guard !options.json else {
      let answer = Answer(service: name.service, account: name.account, secondsLeft: code.secondsLeft)
      return try JSONText.write(JSONText.encode(answer), "code", code.text)
    }
    try Output.write(code.text)
    if Output.isTerminal { try Output.write("   good for \(code.secondsLeft) s\n") }
  }

  private struct Answer: Encodable { let service: String, account: String, secondsLeft: Int }

  private func store(_ context: Context) throws {
    let items = try context.items()
    let name = try item.item(in: items).name
    let text = try given(name)
    // A seed that gives no code is not stored.
    _ = try OneTimeURI.read(text).code(at: Date())
    let field = try name.field(named: OneTimeURI.field)
    let stored = try items.set(SecretForm(text), for: field, keeping: HistoryOptions.standard(items.item(field), context))
    if options.json { try Output.line(JSONText.encode(ItemJSON(stored))) }
  }

  private func given(_ name: ItemName) throws -> SecretBytes {
    if usesStandardInput {
      let bytes = try SecretReader.given(
        STDIN_FILENO, limit: OneTimeURI.largest, what: "the one-time password's secret", place: "standard input")
      return try bytes.withoutTrailingNewline(.lineFeed)
    }
    guard let terminal = Terminal() else {
      throw Failure.usage("there is no secret for the one-time password", try: "standard input")
    }
    return try terminal.secret(Question("otpauth:// URI, or secret, of \(name.description)"))
  }
}

extension OneTimeCommand: HotCommand {
  mutating func take(_ line: inout HotLine) -> Bool {
    guard let item = line.item() else { return false }
    (self.item, stores, clipboard) = (item, false, ClipboardOptions.none)
    (unlocking, options) = (line.unlockingOptions(), line.answerOptions())
    return true
  }
}
