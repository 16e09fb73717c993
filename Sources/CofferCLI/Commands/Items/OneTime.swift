internal import ArgumentParser
internal import CofferFormats
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct OneTimeCommand: HotCommand {
  static let configuration = CommandConfiguration(
    commandName: "otp", abstract: "Print the one-time code of an item.",
    discussion: """
      The secret is the item's field 'otpauth'. --set reads it from standard input or a prompt: the otpauth:// URI of a QR \
      code, or the secret beside it. A pipe gets exactly the code; a terminal also shows the seconds left.
      """, aliases: ["totp"])

  @OptionGroup var item: ItemArguments
  @Flag(name: .customLong("set"), help: "Store the secret of the codes instead of printing one.") var stores = false
  @OptionGroup(title: "Clipboard") var clipboard: ClipboardOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !stores || !clipboard.clip else { throw ValidationError("give --set or --clip, not both") }
    try clipboard.check(json: options.json)
  }

  func claimInput(_ context: Context) throws {
    if stores, isatty(STDIN_FILENO) == 0 { try context.input.claim(for: "the one-time password's secret") }
  }

  func perform(_ context: Context) throws {
    if stores || item.isNamed { try item.words.check() }
    guard !stores else { return try store(context) }
    let clipboard = try clipboard.open()
    let items = try context.itemsToRead()
    let found = try item.isNamed ? named(in: items) : items.pick("show the code", codesOnly: true, with: self.clipboard, context)
    guard let name = found?.name else { return }
    let code = try items.oneTimePassword(of: name).code(at: Date())
    if let clipboard { return try clipboard.copy(code.text, "the code of \(name)", context) }
    guard !options.json else {
      let answer = Answer(service: name.service, account: name.account, secondsLeft: code.secondsLeft)
      return try JSONText.write(JSONText.encode(answer), "code", code.text)
    }
    try Output.write(code.text)
    guard Output.isTerminal else { return }
    // The longest code and period, `12345678` and `86400 s`, leave two cells of the narrowest display.
    let bar = Progress.bar(code.secondsLeft, of: code.period, min(10, Display.output.width - 18), .output)
    try Output.line("  \(bar) \(code.secondsLeft) s")
  }

  private func named(in items: VaultItems) throws -> VaultItem {
    do { return try item.words.item(in: items) } catch let error as StoreError where error.kind == .notFound {
      // The secret of the codes in any spelling, or its URI, may be one of the words.
      throw StoreError(
        .notFound, "no item with this name (not repeated here, as it may hold the secret of a code)",
        cure: "coffer list shows all items, coffer otp NAME --set asks for the secret")
    }
  }

  private struct Answer: Encodable { let service: String, account: String, secondsLeft: Int }

  /// Any short word of letters is Base32. RFC 4226 requires 128 bits, but many services give 80.
  private static let leastBytes = 10

  private func store(_ context: Context) throws {
    let items = try context.items()
    let name = try named(in: items).name
    let text = try SecretReader.answer(
      to: Question("otpauth:// URI, or secret, of \(name.description)"), limit: OneTimeURI.largest,
      what: "the one-time password's secret")
    // A seed that gives no code is not stored.
    let password = try OneTimeURI.read(text)
    _ = try password.code(at: Date())
    guard password.secret.count >= Self.leastBytes else {
      throw StoreError(
        .damaged, "the one-time password's secret cannot be used: it is shorter than \(Self.leastBytes * 8) bits",
        cure: "the otpauth:// URI of the service's QR code, or the whole secret that is printed beside it")
    }
    let field = try name.field(named: OneTimeURI.field)
    let old = try items.item(field)
    let stored = try items.set(SecretForm(text), for: field, keeping: HistoryOptions.standard(old, context))
    context.doneStoring(stored, over: old)
    if options.json { try Output.line(JSONText.encode(ItemJSON(stored))) }
  }

  mutating func take(_ line: inout HotLine) -> Bool {
    guard let item = line.item() else { return false }
    (self.item, stores, clipboard) = (item, false, ClipboardOptions.none)
    (unlocking, options) = (line.unlockingOptions(), line.answerOptions())
    return true
  }
}
