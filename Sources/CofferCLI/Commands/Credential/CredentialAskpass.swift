internal import ArgumentParser
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import SystemPackage

struct CredentialAskpassCommand: HotCommand {
  static let configuration = CommandConfiguration(
    commandName: "askpass",
    abstract: "Answer ssh or git as their SSH_ASKPASS or GIT_ASKPASS.",
    discussion: """
      Both start a program by its name alone: give them coffer-askpass, which 'coffer install' puts beside coffer. The \
      passphrase of a key is the item ssh-key:PATH; a password on a machine is the user's item of ssh://HOST. git gets the user \
      and password that its helper would give. Only a person can decide whether to trust a host, so that question is refused, as \
      is any other.
      """)

  @Argument(help: "The question, as ssh or git asks it.") var question: String
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws {
    // Source: ssh(1), SSH_ASKPASS_PROMPT. A notice waits for no answer.
    let kind = ProcessEnvironment.value("SSH_ASKPASS_PROMPT")
    if kind == "none" { return }
    guard kind == nil, let asked = AskedQuestion(question) else {
      throw Failure(
        .refused, kind: "refused", "this question is for a person: '\(Printable.line(question))'",
        cure: "unset SSH_ASKPASS or GIT_ASKPASS to be asked at the terminal")
    }
    if case .again = asked {
      throw StoreError(
        .notFound, "the vault's passphrase for this key was wrong",
        cure: "coffer set ssh-key:PATH stores another")
    }
    let answer = try answer(asked, context)
    try Output.write(answer.bytes)
    try Output.write("\n")
  }

  private func answer(_ asked: AskedQuestion, _ context: Context) throws -> SecretForm {
    guard !asked.isOfSSH || !AskingSSH.isTooOld() else {
      throw Failure(
        .refused, kind: "refused", "this ssh is older than 8.5, so the question may come from the server",
        cure: "OpenSSH 8.5 or newer")
    }
    switch asked {
    case .again: throw Failure.claim("a wrong answer was answered")
    case .passphrase(let key):
      // ssh runs this program in its own folder.
      let path = try TrustedPath.absolute(FilePath(key)).string
      let services = (path == key ? [key] : [path, key]).map { "ssh-key:\($0)" }
      return try stored(services, nil, "the passphrase of \(key)", context)
    case .password(let user, let host):
      return try stored(["ssh://\(host.lowercased())"], user, "the password of \(user) at \(host)", context)
    case .urlPassword(let url):
      context.reason = "git wants the password of \(Self.plain(url))."
      let found = try HostCredential.get(url, nil, in: context.itemsToRead())
      return try found.secret.line(of: found.name, for: "git")
    case .username(let url):
      context.reason = "git wants the user of \(Self.plain(url))."
      let account = try HostCredential.get(url, nil, in: context.itemsToRead()).user
      return try account.utf8Span.span.bytes.withUnsafeBytes { SecretForm(try SecretBytes(copying: $0)) }
    }
  }

  /// The part of a URL before its host may be a password.
  private static func plain(_ url: String) -> String { Origin(url)?.service ?? "a URL" }

  private func stored(_ services: [String], _ account: String?, _ what: String, _ context: Context) throws -> SecretForm {
    context.reason = "ssh wants \(what)."
    let items = try context.itemsToRead()
    for service in services {
      guard let item = try HostCredential.first(service, account, in: items) else { continue }
      return try items.value(of: item.name).line(of: item.name, for: "ssh")
    }
    let name = try ItemName(service: services[0], account: account ?? "")
    throw StoreError(.notFound, "no item with this name", key: name.description, cure: CommandText.item("set", name))
  }

  mutating func take(_ line: inout HotLine) -> Bool {
    guard let question = line.word() else { return false }
    (self.question, unlocking, options) = (question, line.unlockingOptions(), line.commonOptions())
    return true
  }
}
