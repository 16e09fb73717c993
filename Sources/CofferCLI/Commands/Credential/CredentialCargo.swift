internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal

struct CredentialCargoCommand: HotCommand {
  static let configuration = CommandConfiguration(
    commandName: "cargo",
    abstract: "Answer cargo as its credential provider.",
    discussion: """
      cargo starts a program by its name alone: give it cargo-credential-coffer, which 'coffer install' puts beside coffer. The \
      token of a registry is the item cargo-registry:INDEX-URL; a service and an account after the program's name in cargo's \
      configuration name another item. Requests on standard input and answers on standard output are lines of JSON.
      """)

  // cargo adds it to every call.
  @Flag(help: .hidden) var cargoPlugin = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  func claimInput(_ context: Context) throws { try context.input.claim(for: "cargo's requests") }

  func perform(_ context: Context) throws {
    try Output.line("{\"v\":[1]}")
    let provider = CargoProvider(context: context)
    while let line = try CargoProvider.line(from: STDIN_FILENO) { try provider.answer(line) }
  }

  mutating func take(_ line: inout HotLine) -> Bool {
    (cargoPlugin, unlocking, options) = (line.flag("--cargo-plugin"), line.unlockingOptions(), line.commonOptions())
    return true
  }
}
