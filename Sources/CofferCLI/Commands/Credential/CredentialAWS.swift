internal import ArgumentParser
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct CredentialAWSCommand: HotCommand {
  static let configuration = CommandConfiguration(
    commandName: "aws",
    abstract: "Answer aws and its libraries as their credential_process.",
    discussion: """
      The item has the service aws and the profile as its account, as 'coffer import --from aws' stores it. Its value is the \
      secret key, aws_access_key_id an attribute or a field, aws_session_token a field. If the item expires, aws asks again in \
      time.
      """)

  @Argument(help: "The profile. [default: default]") var profile: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  private static let keyID = "aws_access_key_id"
  private static let session = "aws_session_token"

  private struct Answer: Encodable {
    let Version = 1
    let AccessKeyId: String
    let Expiration: Date?
  }

  func perform(_ context: Context) throws {
    let profile = profile ?? "default"
    context.reason = "aws wants the key of the profile \(profile)."
    let items = try context.itemsToRead()
    let name = try ItemName(service: "aws", account: profile)
    guard let item = try items.item(name) else {
      throw StoreError(
        .notFound, "the vault has no key for this profile", key: name.description, cure: "coffer import --from aws")
    }
    let key = try items.value(of: name).line(of: name, for: "aws")
    let token = try items.item(name.field(named: Self.session))
    var secrets = [("SecretAccessKey", key)]
    if let token { secrets.append(("SessionToken", try items.value(of: token.name).line(of: token.name, for: "aws"))) }
    let expires = [item.metadata.expires, token?.metadata.expires].compactMap(\.self).min()
    try JSONText.write(JSONText.encode(Answer(AccessKeyId: keyID(of: item, items), Expiration: expires)), secrets)
  }

  private func keyID(of item: VaultItem, _ items: VaultItems) throws -> String {
    switch try ItemPart(ifAny: Self.keyID, of: item, in: items) {
    case .text(let text): return text
    // An import may have stored it as a field; it opens nothing by itself.
    case .secret(let form):
      if let text = form.bytes.withUnsafeBytes({ PlainBytes.text($0) }) { return text }
    case nil: break
    }
    throw StoreError(
      .notFound, "the item has no \(Self.keyID)", key: item.name.description,
      cure: "\(CommandText.item("edit", item.name)) --attribute \(Self.keyID)=ID")
  }

  mutating func take(_ line: inout HotLine) -> Bool {
    (profile, unlocking, options) = (line.word(), line.unlockingOptions(), line.commonOptions())
    return true
  }
}
