internal import ArgumentParser
internal import CofferAgent
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

struct CredentialAgeCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "age",
    abstract: "Answer age and SOPS as their plugin: files are decrypted by identities in the vault.",
    discussion: """
      age starts it as age-plugin-coffer, which 'coffer install' puts beside coffer. 'age-plugin-coffer new NAME' makes an \
      identity in the vault, and prints a file for 'age -i' with its recipient in a comment; the file is no secret. 'add NAME' \
      stores the identity of age-keygen on standard input. Senders use the recipient, age1…, and need no plugin.
      """)

  enum Operation: String, ExpressibleByArgument, CaseIterable { case new, add }
  enum Machine: String, ExpressibleByArgument, CaseIterable {
    case identity = "identity-v1"
    case recipient = "recipient-v1"
  }

  @Argument(help: "new or add.") var operation: Operation?
  @Argument(help: "The new item's name, as for coffer set.") var name: String?
  @Option(help: ArgumentHelp("When a person is asked: never, always or passphrase. [default: never]", valueName: "when"))
  var ask: KeyRules.Asking?
  // age adds it.
  @Option(help: .hidden) var agePlugin: Machine?
  @OptionGroup var options: CommonOptions

  func validate() throws {
    guard (agePlugin == nil) == (operation != nil), (operation == nil) == (name == nil) else {
      throw ValidationError("give new NAME or add NAME; age gives --age-plugin")
    }
    guard ask != .forwarded else { throw ValidationError("--ask takes never, always or passphrase here") }
  }

  func claimInput(_ context: Context) throws {
    if agePlugin != nil || operation == .add { try context.input.claim(for: agePlugin == nil ? "the identity" : "age's request") }
  }

  func perform(_ context: Context) throws {
    if let agePlugin { return try AgePlugin(context).run(isIdentity: agePlugin == .identity) }
    let name = try ItemName(newKey: self.name ?? "")
    let metadata = ItemMetadata(attributes: ask.map { [ItemMetadata.useAsk: $0.rawValue] } ?? [:])
    let key: KeyAddition =
      try operation == .add ? .identity(Self.identity(), name, metadata) : .newIdentity(name, metadata)
    let recipient = try context.keyAgent().put(key)
    try Output.line("# \(recipient)\n\(AgePluginIdentity.text(of: recipient))")
  }

  /// The only identity among the lines of age-keygen.
  private static func identity() throws -> SecretForm {
    let text = try SecretReader.answer(to: Question("Identity, AGE-SECRET-KEY-1…"), limit: 1 << 16, what: "the identity")
    return try text.withUnsafeBytes { raw in
      let lines = raw.split { $0 == 0x0A || $0 == 0x0D }.filter { $0.first != UInt8(ascii: "#") && !$0.allSatisfy { $0 <= 0x20 } }
      guard lines.count == 1 else {
        throw Failure.usage("there are \(lines.count) identities", try: "one of them: age-plugin-coffer add NAME < FILE")
      }
      return SecretForm(try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: lines[0])))
    }
  }
}
