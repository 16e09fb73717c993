internal import ArgumentParser
internal import Coffer
internal import CofferDefaults
internal import CofferVault

struct CompletionCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "completion", abstract: "Print a shell's completion script.",
    discussion: """
      bash: source <(coffer completion bash) in ~/.bashrc. zsh: coffer completion zsh > ~/.zfunc/_coffer, with fpath+=~/.zfunc \
      before compinit in ~/.zshrc. fish: coffer completion fish > ~/.config/fish/completions/coffer.fish. Domains and keys \
      of preferences are completed always, services and accounts where COFFER_KEY_FILE or COFFER_IDENTITY opens the vault or an \
      agent has it open. Completion never asks for anything.
      """)

  static var idleOptions: Set<String> { ["yes", "home", "vault"] }

  enum Shell: String, ExpressibleByArgument, CaseIterable {
    case bash, zsh, fish
    var kind: CompletionShell {
      switch self {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    }

    /// Without its last newline.
    var script: String {
      CofferCommand.completionScript(for: kind) + (self == .bash ? "\n" + CompletionCommand.wholeWords : "")
    }
  }

  @Argument(help: "bash, zsh or fish.") var shell: Shell
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws {
    try Output.line(shell.script)
  }

  /// bash ends a word at a colon, which stands in many a service. The words are put together again for the script, and what the line
  /// has of the last one already is taken off the answers.
  fileprivate static let wholeWords = #"""

    _coffer_whole_words() {
        local -r typed="${COMP_LINE:0:${COMP_POINT}}"
        if [[ "${typed}" != *:* ]]; then
            _coffer "${@}"
            return
        fi
        local -a whole
        read -ra whole <<< "${typed}"
        [[ "${typed}" == *[[:space:]] ]] && whole+=('')
        local -a COMP_WORDS=("${whole[@]}")
        local -i COMP_CWORD="$((${#whole[@]} - 1))"
        local -r word="${whole[${COMP_CWORD}]}"
        _coffer "${1}" "${word}" "${whole[$((COMP_CWORD - 1))]}"
        local -r there="${word%"${word##*:}"}"
        COMPREPLY=("${COMPREPLY[@]#"${there}"}")
    }

    complete -o filenames -F _coffer_whole_words coffer
    """#
}

/// What a shell may offer. A completion never asks, never speaks, and has nothing to offer where something is wrong.
enum Completions {
  static let services = CompletionKind.custom { words, _, _ in
    list(words) { Set(try $0.silentItems().map(\.name.service)) }
  }

  /// The accounts of the services that stand on the line.
  static let accounts = CompletionKind.custom { words, _, _ in
    list(words) { context in
      Set(
        try context.silentItems().filter { words.dropFirst().contains($0.name.service) }.map(\.name.account).filter {
          !$0.isEmpty
        })
    }
  }

  static let domains = CompletionKind.custom { words, _, _ in
    list(words) { Set(try DefaultsDomain.list(in: $0.places.defaults).map(\.name)) }
  }

  /// The keys of the domains that stand on the line.
  static let keys = CompletionKind.custom { words, _, _ in
    list(words) { context in
      let domains = try DefaultsDomain.list(in: context.places.defaults).map(\.name).filter { words.dropFirst().contains($0) }
      return Set(try domains.flatMap { try context.domain($0).names() })
    }
  }

  /// The keys of the router's domain, in both stores.
  static let routerKeys = CompletionKind.custom { words, _, _ in
    let domain = value(of: "--domain", words) ?? ProcessEnvironment.value("COFFER_DOMAIN") ?? "coffer"
    return list(words) { context in
      let secrets = try context.silentItems().filter { $0.name.service == domain }.map(\.name.account)
      return Set(try context.domain(domain).names() + secrets)
    }
  }

  private static func list(_ words: [String], _ find: (Context) throws -> Set<String>) -> [String] {
    do {
      // A name with a control character cannot be: what is stored has none. One name is one line.
      return try find(Context(home: value(of: "--home", words), vault: value(of: "--vault", words), quiet: true)).sorted().map(
        spelt)
    } catch {
      return []
    }
  }

  /// What the shell's script takes for `name`.
  ///
  /// bash expands the words it is given (bash(1), `compgen -W`): what is not escaped there would be run. In zsh a colon, which many
  /// a service has, would begin a description (zshcompsys(1), `_describe`).
  private static func spelt(_ name: String) -> String {
    switch CompletionShell.requesting {
    case .bash?: escaped(name) { !isPlain($0) }
    case .zsh?: escaped(name) { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "\\") }
    default: name
    }
  }

  private static func escaped(_ name: String, _ isSpecial: (UInt8) -> Bool) -> String {
    let bytes = name.utf8.flatMap { isSpecial($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether a byte means nothing to a shell. Bytes of other letters than English ones do not.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "-"),
      0x80...0xFF:
      true
    default: false
    }
  }

  private static func value(of option: String, _ words: [String]) -> String? {
    words.firstIndex(of: option).flatMap { words.dropFirst($0 + 1).first }
  }
}

extension Context {
  /// The items of the vault where something opens it at once and without a question: the agent, or a key file or an identity that
  /// the environment names.
  fileprivate func silentItems() throws -> [VaultItem] {
    try everySilentItem().filter { !AuthAccounts.isPointer($0) }
  }

  private func everySilentItem() throws -> [VaultItem] {
    if let agent = try agent() { return try agent.list() }
    let sources = CredentialSources(self)
    var credentials = Credentials()
    if let path = ProcessEnvironment.value("COFFER_KEY_FILE") { credentials.keyFile = try sources.keyFile(path) }
    if let path = ProcessEnvironment.value("COFFER_IDENTITY") { credentials.identity = try sources.identity(path) }
    guard !credentials.isEmpty else { return [] }
    do { return try lockedVault().unlock(with: credentials).list() } catch { return [] }
  }
}
