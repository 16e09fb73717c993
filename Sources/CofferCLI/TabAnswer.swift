internal import ArgumentParser
internal import CofferTerminal

/// The answer to a shell's tab key. The scripts of the shells ask the program for it (`coffer ---complete SHELL WORD…`), so they
/// know none of its commands, and are never older than it.
enum TabAnswer {
  case words([(word: String, purpose: String)])
  case files
  /// A command line of another program begins at this word.
  case command(at: Int)

  /// - Parameter typed: the words behind `coffer`, without quotes; the last one ends at the cursor.
  init(to typed: [String]) throws {
    let line = Arguments((["coffer"] + typed.dropLast()).map { ByteWord($0) })
    if line.command == RunCommand.self, let end = line.words.firstIndex(of: "--") {
      self = .command(at: typed.count - line.words.count + end)
    } else if line.namesLeaf {
      self = try Self.argument(line, typed)
    } else {
      self = Self.name(line, isOption: typed.last?.hasPrefix("-") == true)
    }
  }

  /// The next word of a command's name, or of a name behind `help`.
  private static func name(_ line: Arguments, isOption: Bool) -> TabAnswer {
    let rest = ProgramOptions.split(line.rest).rest
    let isHelp = rest.first == "help"
    var family = line.command, isRoot = line.depth == 0
    for word in isHelp ? rest.dropFirst() : rest {
      guard let next = family.configuration.subcommands.first(where: { $0.answers(to: word) }) else {
        return ProgramOptions.withValue.contains(word) ? .files : .words([])
      }
      (family, isRoot) = (next, false)
    }
    guard !isOption else {
      let options = isHelp ? ["--all", "--man"] : ["--help"] + ProgramOptions.withValue + ProgramOptions.flags
      return .words(options.map { ($0, "") })
    }
    let commands = family.configuration.subcommands.filter { $0.configuration.shouldDisplay }.map {
      ($0.configuration.commandName ?? "", HelpPage.firstLine($0.configuration.abstract))
    }
    return .words(commands + (isHelp && isRoot ? HelpTopic.all.map { ($0.name, $0.abstract + ".") } : []))
  }

  private static func argument(_ line: Arguments, _ typed: [String]) throws -> TabAnswer {
    let all = try CommandDefinition(Array(line.words.prefix(line.depth)), line.command).arguments
    var option: ArgumentDefinition?, place = 0, hasEnded = false, used: Set<String> = []
    for word in line.rest {
      if option != nil {
        option = nil
      } else if hasEnded || !word.hasPrefix("-") {
        place += 1
      } else {
        hasEnded = word == "--"
        let found = all.first { $0.spellings.contains(word) }
        if found?.isRepeating == false { used.formUnion(found?.spellings ?? []) }
        if found?.kind == .option { option = found }
      }
    }
    if let option { return values(of: option, option.spellings.last ?? "", line.command, typed) }
    if !hasEnded, typed.last?.hasPrefix("-") == true {
      let left = all.filter { used.isDisjoint(with: $0.spellings) }
      return .words(left.flatMap { option in option.spellings.map { ($0, option.abstract ?? "") } })
    }
    let positionals = all.filter { $0.kind == .positional }
    guard let last = positionals.last, place < positionals.count || last.isRepeating else { return .words([]) }
    if last.parsingStrategy == "postTerminator" { return .command(at: typed.count - 1) }
    let index = min(place, positionals.count - 1)
    return values(of: positionals[index], "positional@\(index)", line.command, typed)
  }

  /// - Parameter name: the argument's name for the parser, which calls ``Completions``.
  private static func values(
    of argument: ArgumentDefinition, _ name: String, _ command: any ParsableCommand.Type, _ typed: [String]
  ) -> TabAnswer {
    switch argument.completion {
    case "list": return .words((argument.values ?? []).map { ($0, "") })
    case "custom":
      do {
        _ = try command.parseAsRoot(
          ["---completion", "--", name, "\(typed.count)", "\(typed.last?.count ?? 0)", "coffer"] + typed)
        return .words([])
      } catch {
        guard CofferCommand.exitCode(for: error) == .success else { return .words([]) }
        return .words(CofferCommand.fullMessage(for: error).split(separator: "\n").map { (String($0), "") })
      }
    default: return fileNames.contains(argument.valueName ?? "") ? .files : .words([])
    }
  }

  /// The values' names in help pages that stand for a file or a folder. A place of a vault may be one.
  private static let fileNames: Set<String> = ["path", "file", "file|-", "dir", "place"]
}

extension TabAnswer {
  /// The kind of answer is its first line; nil for any other command line.
  static func text(to given: [String]) throws -> String? {
    guard given.first == "---complete", given.count > 2 else { return nil }
    let words = Array(given.dropFirst(2))
    guard given[1] != "bash" else { return try bash(BashLine(words[0], from: words.last ?? "")) }
    let answer = try TabAnswer(to: words)
    return answer.text { word, purpose in
      guard given[1] == "zsh" else { return purpose.isEmpty ? word : "\(word)\t\(purpose)" }
      // A colon, which many a service has, begins a description (zshcompsys(1), `_describe`).
      let spelled = word.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
      return purpose.isEmpty ? spelled : "\(spelled):\(purpose)"
    }
  }

  /// bash finds files itself, and only the program's part of the line.
  private static func bash(_ line: BashLine) throws -> String {
    let typed = line.words.last ?? ""
    switch try TabAnswer(to: Array(line.words.dropFirst())) {
    case .command(let place): return place == line.words.count - 2 ? "command" : "files"
    case .files: return "files"
    case .words(let words):
      return TabAnswer.words(words.filter { $0.word.hasPrefix(typed) }).text { word, _ in line.spelled(word) }
    }
  }

  private func text(_ spelled: (String, String) -> String) -> String {
    switch self {
    case .files: "files"
    case .command(let place): "command \(place)"
    case .words(let words): (["words"] + words.map { spelled($0.word, $0.purpose) }).joined(separator: "\n")
    }
  }
}
