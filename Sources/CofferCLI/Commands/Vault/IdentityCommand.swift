internal import ArgumentParser
internal import Coffer

struct IdentityCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "identity", abstract: "Make an identity, whose public key others can let into their vaults.",
    discussion: """
      An identity file is as secret as a key file. Its public key, PVPUB1-…, may be known: whoever has it can add a slot for you \
      with coffer vault slot add --recipient.
      """,
    subcommands: [IdentityNew.self, IdentityShow.self])
}

struct IdentityNew: Command {
  static let configuration = CommandConfiguration(
    commandName: "new", abstract: "Write a new identity to a file and print its public key.")
  @Argument(help: "Where nothing may be yet.") var file: String
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    let identity = try NewKeyFile.write(Identity.generate(), to: file)
    try IdentityShow.show(identity, json: output.json)
  }
}

struct IdentityShow: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print the public key of an identity file.")
  @Argument(help: "The identity file.") var file: String
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    let identity = try SecretReader.file(file, limit: SecretReader.largestToken, what: "the identity", session: session)
    try Self.show(identity, json: output.json)
  }

  static func show(_ identity: borrowing SecretBytes, json: Bool) throws {
    let recipient = try Identity.recipient(of: identity).description
    try Output.line(json ? JSONText.encode(["recipient": recipient]) : recipient)
  }
}
