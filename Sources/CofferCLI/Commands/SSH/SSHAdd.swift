internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferPlatform
internal import CofferSSH
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials
internal import SystemPackage

struct SSHAddCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Store a key of a file in the vault, and print its public half.",
    discussion: """
      ssh-add reads the file, whatever its format, and asks for its passphrase. A certificate beside it (FILE-cert.pub) becomes \
      the item's field 'certificate', which expires with it. The file stays: delete it once the new key works.
      """)

  @Argument(help: ArgumentHelp("The key's file, such as ~/.ssh/id_ed25519.", valueName: "file"), completion: .file())
  var file: String
  @Option(help: ArgumentHelp("The new item's name. [default: the file's]", valueName: "name")) var name: String?
  @OptionGroup var rules: KeyRules
  @Option(help: ArgumentHelp("A label.", valueName: "text")) var label: String?
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws {
    let path = FilePath(file)
    let (name, metadata) = (
      try ItemName(newKey: name ?? path.lastName ?? file), try rules.newKey(label: label)
    )
    guard path.extension != "pub" else {
      throw Failure.usage(
        "this is the public half", try: "the private key's file: \(CommandText.quoted(String(file.dropLast(4))))")
    }
    guard FileFacts.exists(path) else {
      throw StoreError(.notFound, "there is no such file", place: file, cure: "the key's file, without .pub")
    }
    let agent = try context.keyAgent()
    var publicLine: String?
    try SSHAdd.run(path, context) { fields in
      guard let (line, expires) = try Self.certificate(in: fields, comment: name.description) else {
        publicLine = try agent.put(.key(SecretForm(fields), name, metadata))
        return
      }
      guard publicLine != nil, expires.map({ $0 > Date() }) ?? true else { return }
      let text = try line.utf8Span.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
      let form = SecretForm(text, metadata: ItemMetadata(contentType: "text/plain", expires: expires))
      _ = try agent.set(form, for: name.field(named: "certificate"), if: .always, keeping: nil)
    }
    guard let publicLine else {
      throw StoreError(
        .undecodable(stored: "another format"), "no key was read", place: file, cure: "see the message of ssh-add above")
    }
    try Output.line(publicLine)
    metadata.tellUses(context)
  }

  /// Nil for a key without one. Source: OpenSSH's PROTOCOL.certkeys.
  private static func certificate(
    in fields: borrowing SecretBytes, comment: String
  ) throws -> (line: String, expires: Date?)? {
    try fields.withUnsafeBytes { raw in
      var reader = SSHReader(raw)
      guard try reader.text().hasSuffix("-cert-v01@openssh.com") else { return nil }
      return try PublicHalf.certificate(Array(reader.string()), comment: comment)
    }
  }
}

/// A run of ssh-add against a socket that only it can use.
private enum SSHAdd {
  /// - Parameter take: gets the fields of each key that it sends.
  static func run(_ file: FilePath, _ context: Context, _ take: (consuming SecretBytes) throws -> Void) throws {
    // A killed command's folder is removed by the next one.
    let folder = try MemoryFolder(context.places)
    defer { folder.wipe() }
    let socket = folder.path.appending("socket")
    let listening = socket.withPlatformString { coffer_local_listen($0, 1) }
    guard listening >= 0 else { throw StoreError(errno: errno, "listen for ssh-add", place: socket) }
    defer { close(listening) }
    var variables = ChildEnvironment()
    try variables.set("SSH_AUTH_SOCK", socket.string)
    let program = try Executable.find("ssh-add", path: ProcessEnvironment.word("PATH"))
    let child = try Child(program, ["ssh-add", "-q", "--", ByteWord(file.string)], .inherited(variables))
      .start { Executable.failure("ssh-add", $0) }
    do {
      if let connection = try accept(listening, from: child) { try AddedKeys.take(from: connection, take) }
    } catch {
      kill(child, SIGTERM)
      Ending.discard(child)
      throw error
    }
    _ = try Ending(of: child)
  }

  /// Nil if the child ends first.
  private static func accept(_ listening: Int32, from child: pid_t) throws -> Int32? {
    while true {
      var waiting = pollfd(fd: listening, events: Int16(POLLIN), revents: 0)
      if poll(&waiting, 1, 50) > 0, case let accepted = coffer_accept(listening), accepted >= 0 {
        if coffer_peer_process(accepted) == child { return accepted }
        close(accepted)
      }
      var facts = siginfo_t()
      if waitid(P_PID, id_t(child), &facts, WEXITED | WNOHANG | WNOWAIT) == 0, facts.si_signo == SIGCHLD { return nil }
    }
  }
}
