internal import CofferPlatform

/// The words that this process was started with, byte for byte. `CommandLine.arguments` puts U+FFFD in the place of what is not UTF-8,
/// so that two different words may look the same.
enum CommandWords {
  /// All of them, the program's name first; none where the system does not tell.
  static var all: [ByteWord] {
    let given = Int(coffer_argument_count())
    if given > 0, let words = coffer_arguments() { return (0..<given).compactMap { index in words[index].map { ByteWord($0) } } }
    return (0..<Int(CommandLine.argc)).compactMap { index in CommandLine.unsafeArgv[index].map { ByteWord($0) } }
  }

  /// The last `count` of them.
  static func last(_ count: Int) -> [ByteWord] { all.suffix(count) }

  /// Refuses words that are not UTF-8, but for those of a command to be run, which gets them as they are.
  static func refuseUnreadable(_ arguments: [String]) throws(Failure) {
    guard let unreadable = all.dropFirst().firstIndex(where: { !$0.isText }) else { return }
    let isRun = LeadingOptions.line(arguments).command == RunCommand.self
    let end = isRun ? all.dropFirst().firstIndex { $0.text == "--" } : nil
    if let end, end < unreadable { return }
    throw .usage(
      "argument \(unreadable) is not UTF-8 (not repeated here), and would be taken for another name",
      try: "the name in UTF-8; only coffer run passes any bytes on, after --")
  }

  /// Arguments as the parser can take them: it looks for an option's `=` among characters, and a combining mark after it makes one
  /// character of both.
  static func split(_ arguments: [String]) -> [String] {
    let end = arguments.firstIndex(of: "--") ?? arguments.count
    return arguments[..<end].flatMap { word -> [String] in
      guard word.utf8.starts(with: "--".utf8), let pair = Attributes.split(word), !word.contains("=") else { return [word] }
      return [pair.name, pair.value]
    } + arguments[end...]
  }
}
