internal import ArgumentParser

/// A command that programs start often, such as a credential helper. Its usual lines are read here, because ArgumentParser's
/// reflection is three quarters of such a start.
///
/// ArgumentParser stays the only description of the options: it reads every other line and makes every error. A test
/// compares both on the same lines.
protocol HotCommand: OpeningCommand {
  /// Takes its words and options from `line`, and sets every option; false if a word is missing or wrong.
  mutating func take(_ line: inout HotLine) -> Bool
}

extension HotCommand {
  /// Nil if ArgumentParser is to read the words.
  static func hot(_ words: ArraySlice<String>) -> Self? {
    guard var line = HotLine(words) else { return nil }
    var command = Self()
    return command.take(&line) && line.isSpent ? command : nil
  }
}

/// The words behind the name of a ``HotCommand``. An option stands once, and its value is a word of its own.
struct HotLine {
  private static let flags: Set<String> = [
    "--json", "--quiet", "-q", "--yes", "--no-agent", "--fresh", "--cargo-plugin", "--items",
  ]
  private static let options: Set<String> = [
    "--home", "--vault", "--field", "--domain", "--service", "--account", "--key-file", "--passphrase-file", "--recovery-file",
    "--identity",
  ]

  private var words: [String] = []
  private var flags: Set<String> = []
  private var values: [String: String] = [:]

  /// Nil if a word is unknown.
  init?(_ line: ArraySlice<String>) {
    var rest = line
    while let word = rest.popFirst() {
      guard Self.looksLikeOption(word) else {
        if word.isEmpty { return nil }
        words.append(word)
        continue
      }
      if word == "--" {
        words += rest
        break
      }
      if Self.flags.contains(word) {
        guard flags.insert(word).inserted else { return nil }
      } else {
        guard Self.options.contains(word), let value = rest.popFirst(), !value.isEmpty, !Self.looksLikeOption(value),
          values.updateValue(value, forKey: word) == nil
        else { return nil }
      }
    }
  }

  private static func looksLikeOption(_ word: String) -> Bool { word.utf8.first == UInt8(ascii: "-") }

  var isSpent: Bool { words.isEmpty && flags.isEmpty && values.isEmpty }

  mutating func word() -> String? { words.isEmpty ? nil : words.removeFirst() }
  mutating func value(_ name: String) -> String? { values.removeValue(forKey: name) }
  mutating func flag(_ name: String) -> Bool { flags.remove(name) != nil }

  mutating func commonOptions() -> CommonOptions {
    var options = CommonOptions()
    (options.home, options.vault) = (value("--home"), value("--vault"))
    (options.quiet, options.yes) = (quiet(), flag("--yes"))
    return options
  }

  mutating func answerOptions() -> AnswerOptions {
    var options = AnswerOptions()
    (options.home, options.vault) = (value("--home"), value("--vault"))
    (options.quiet, options.yes, options.json) = (quiet(), flag("--yes"), flag("--json"))
    return options
  }

  private mutating func quiet() -> Bool {
    let short = flag("-q")
    return flag("--quiet") || short
  }

  /// ArgumentParser reads a line with a number among them.
  mutating func unlockingOptions() -> UnlockingOptions {
    var options = UnlockingOptions()
    (options.passphraseNumber, options.minGeneration, options.invitation) = (nil, nil, [])
    (options.passphraseFile, options.keyFile) = (value("--passphrase-file"), value("--key-file"))
    (options.recoveryFile, options.identity) = (value("--recovery-file"), value("--identity"))
    options.noAgent = flag("--no-agent")
    return options
  }
}
