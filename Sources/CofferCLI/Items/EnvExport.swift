internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

enum EnvExport {
  /// `NAME=coffer://service/NAME` for each item.
  static func references(_ items: VaultItems, services: [String]) throws {
    let found = try items.list().filter { isWanted($0, services) }
    try check(found.map(\.name))
    let lines = found.map { "\($0.name.account)=\(Reference(service: $0.name.service, account: $0.name.account))\n" }
    try Output.write(lines.joined())
  }

  /// `NAME='value'` for each item, once all are known to be printable.
  static func values(_ vault: borrowing OpenedVault, services: [String], _ context: Context) throws {
    var found: [(name: ItemName, form: SecretForm)] = []
    try vault.forEachItem {
      if isWanted($0, services) { context.leavesOut($0) }
    } _: { item, form in
      if isWanted(item, services) { found.append((item.name, form)) }
    }
    try check(found.map(\.name))
    for (name, form) in found where !form.bytes.withUnsafeBytes({ UTF8Validity.isValid($0) && !$0.contains(0) }) {
      throw StoreError(.unencodable, "the value is not text", key: name.description, cure: "--format json carries any bytes")
    }
    // For any value: a shell that takes `42` for `RANDOM` does not give it back, and bash runs `ls` for `RANDOM='a[$(ls)]'`.
    for (name, _) in found where ShellVariables.own(name.account) {
      throw StoreError(
        .unencodable, "the account is a variable that shells set themselves", key: name.description,
        cure: "--format json, or coffer rename to another account")
    }
    for (name, form) in found {
      try Output.write("\(name.account)=")
      try Output.valueLine(quoted(form.bytes))
    }
  }

  /// Without a service all but Coffer's own.
  static func isWanted(_ item: VaultItem, _ services: [String]) -> Bool {
    services.isEmpty ? !LoginItems.isPointer(item) : services.contains { $0.hasSameBytes(as: item.name.service) }
  }

  private static func check(_ names: [ItemName]) throws(StoreError) {
    var seen: Set<String> = []
    for name in names {
      guard isVariable(name.account) else {
        throw StoreError(
          .invalidName, "the account is not a valid variable name", key: name.description,
          cure: "--service chooses items whose accounts are; coffer rename gives another")
      }
      guard seen.insert(name.account).inserted else {
        throw StoreError(
          .ambiguous, "two services have a variable with this name", key: name.account, cure: "--service chooses one of them")
      }
    }
  }

  private static func isVariable(_ name: String) -> Bool {
    guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
    return name.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
  }

  /// In single quotes, which every reader takes literally. A value that contains one gets double quotes, with a backslash
  /// before each character that a shell would expand or run.
  private static func quoted(_ value: borrowing SecretBytes) throws -> SecretBytes {
    try value.withUnsafeBytes { raw in
      let isPlain = !raw.contains(UInt8(ascii: "'"))
      let extra = isPlain ? 0 : raw.count { isEscaped($0) }
      return try SecretBytes(
        count: raw.count + extra + 2, memory: { Failure(StoreError(memory: $0)) },
        fill: { (out) throws(Failure) in
          var at = 0
          func put(_ byte: UInt8) {
            out[at] = byte
            at += 1
          }
          put(UInt8(ascii: isPlain ? "'" : "\""))
          for byte in raw {
            if !isPlain, isEscaped(byte) { put(UInt8(ascii: "\\")) }
            put(byte)
          }
          put(UInt8(ascii: isPlain ? "'" : "\""))
        })
    }
  }

  /// Between double quotes these mean something to a shell: sh(1p), "Double-Quotes".
  private static func isEscaped(_ byte: UInt8) -> Bool { "\\\"$`".utf8.contains(byte) }
}

/// Variables that belong to a shell: an assignment to one fails, is ignored or evaluated, changes the shell's user or state,
/// or has its value expanded, and so run, at a later prompt.
///
/// Three rules identify the last kind. A prompt is expanded: by bash always, by zsh with `PROMPT_SUBST`. Messages about new
/// mail are expanded: the text behind `?` in `MAILPATH`, in zsh in `MAIL` and `mailpath` too. And zsh's array that is tied
/// to a variable is that variable: `path` is `PATH`.
///
/// Sources: bash(1), "Shell Variables"; zshparam(1), "Parameters Set By The Shell" and "Parameters Used By The Shell";
/// zshmodules(1); dash(1), `getopts`. Shells tell upper case from lower.
enum ShellVariables {
  static func own(_ name: String) -> Bool { all.contains(name) }

  private static let all = Set((bash + " " + zsh).split(separator: " ").map(String.init))

  private static let bash = """
    BASHOPTS BASHPID BASH_ARGC BASH_ARGV BASH_COMMAND BASH_LINENO BASH_SOURCE BASH_SUBSHELL BASH_VERSINFO DIRSTACK EPOCHREALTIME \
    EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD LINENO MAILPATH OPTIND PIPESTATUS PPID PROMPT_COMMAND PS0 PS1 PS2 PS4 RANDOM \
    SECONDS SHELLOPTS SRANDOM UID _
    """

  private static let zsh = """
    ARGC COLUMNS EGID ERRNO FUNCNEST GID HISTCHARS HISTSIZE KEYBOARD_HACK KEYTIMEOUT LINES LISTMAX LOGCHECK MAIL MAILCHECK \
    PROMPT PROMPT2 PROMPT3 PROMPT4 PROMPT_EOL_MARK PS3 RPROMPT RPROMPT2 RPS1 RPS2 SAVEHIST SHLVL SPROMPT TRY_BLOCK_ERROR \
    TRY_BLOCK_INTERRUPT TTYIDLE USERNAME ZLE_RPROMPT_INDENT ZSH_EVAL_CONTEXT ZSH_SUBSHELL cdpath fignore fpath mailpath manpath \
    module_path path prompt psvar watch aliases builtins commands dirstack dis_aliases dis_builtins dis_functions \
    dis_functions_source dis_galiases dis_patchars dis_reswords dis_saliases epochtime errnos funcfiletrace funcsourcetrace \
    funcstack functions functions_source functrace galiases histchars history historywords jobdirs jobstates jobtexts keymaps \
    langinfo mapfile modules nameddirs options parameters patchars pipestatus reswords saliases signals status sysparams termcap \
    terminfo userdirs usergroups widgets zsh_eval_context zsh_scheduled_events
    """
}

enum EnvItems {
  /// - Parameter skipped: called with each variable whose value is a reference, which is no secret and stays in the file.
  static func read(
    _ file: borrowing SecretBytes, service: String, place: String, skipped: (String) -> Void
  ) throws -> [ImportedItem] {
    try EnvFile.read(file, place: place).compactMap { entry in
      let isReference = entry.value.bytes.withUnsafeBytes { $0.starts(with: Reference.scheme.utf8) }
      guard !isReference else {
        skipped(entry.name)
        return nil
      }
      let value = try entry.value.bytes.duplicate()
      let name: ItemName
      do throws(StoreError) { name = try ItemName(service: service, account: entry.name) } catch {
        throw error.ofImported("\(service)/\(entry.name)", place: place, line: entry.line)
      }
      return ImportedItem(name: name, form: SecretForm(value, metadata: ItemMetadata(contentType: "text/plain")))
    }
  }
}
