internal import CofferPlatform

/// The words that this process was started with, byte for byte. `CommandLine.arguments` puts U+FFFD in the place of bytes that
/// are not UTF-8, so that two different words may look the same.
package enum CommandWords {
  /// All of them, the program's name first; none where the system does not tell.
  package static var all: [ByteWord] {
    let given = Int(coffer_argument_count())
    if given > 0, let words = coffer_arguments() { return (0..<given).compactMap { index in words[index].map { ByteWord($0) } } }
    return (0..<Int(CommandLine.argc)).compactMap { index in CommandLine.unsafeArgv[index].map { ByteWord($0) } }
  }

  /// The last `count` of them.
  package static func last(_ count: Int) -> [ByteWord] { all.suffix(count) }
}
