internal import ArgumentParser
internal import CofferFormats
internal import CofferStorage

struct RecipeOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Characters of a generated value (8 to 1024).", valueName: "n"))
  var length: Int?
  @Option(help: ArgumentHelp("Words of a generated value (4 to 64), instead of characters.", valueName: "n"))
  var words: Int?
  @Option(help: ArgumentHelp("The separator of generated words.", valueName: "text"))
  var separator: String?
  @Option(
    help: ArgumentHelp(
      "Its kinds of characters, with commas between: lower, upper, digits, symbols; each occurs at least once.",
      valueName: "classes"))
  var classes: String?
  @Flag(help: "Leave out characters that look alike: 0 O o 1 I l |.") var noLookAlikes = false

  /// Between words: easy to type, and part of no word.
  private static let separator = "-"

  var isEmpty: Bool { length == nil && words == nil && separator == nil && classes == nil && !noLookAlikes }

  func validate() throws {
    if let length, !Generated.lengths.contains(length) {
      throw ValidationError("--length takes \(Generated.lengths.lowerBound) to \(Generated.lengths.upperBound) characters")
    }
    if let words, !PasswordRecipe.wordCounts.contains(words) {
      throw ValidationError("--words takes \(PasswordRecipe.wordCounts.lowerBound) to \(PasswordRecipe.wordCounts.upperBound)")
    }
    guard words == nil || (length == nil && classes == nil && !noLookAlikes) else {
      throw ValidationError("--words excludes --length, --classes and --no-look-alikes: words are lower-case letters")
    }
    guard separator == nil || words != nil else { throw ValidationError("--separator needs --words") }
    if let separator, separator.utf8.count > 8 || !separator.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) {
      throw ValidationError("--separator takes at most 8 printable bytes")
    }
    _ = try parsedClasses()
  }

  private func parsedClasses() throws -> [PasswordRecipe.Class] {
    guard let classes else { return [.lower, .upper, .digits] }
    let found = classes.split(separator: ",").map { PasswordRecipe.Class(rawValue: String($0)) }
    let known = found.compactMap(\.self)
    guard !known.isEmpty, known.count == found.count, Set(known).count == known.count else {
      throw ValidationError("--classes takes lower, upper, digits and symbols, with commas between, each once")
    }
    return known
  }

  /// A value, and its bits.
  func make() throws -> (SecretForm, Double) {
    if let words {
      let recipe = PasswordRecipe(words: words, separator: separator ?? Self.separator)
      return (SecretForm(try recipe.make()), recipe.bits)
    }
    let length = length ?? Generated.standardLength
    guard classes != nil || noLookAlikes else {
      return (SecretForm(try Generated.text(length: length)), Double(length) * Generated.bitsOfCharacter)
    }
    let recipe = PasswordRecipe(length: length, classes: try parsedClasses(), withoutLookAlikes: noLookAlikes)
    return (SecretForm(try recipe.make()), recipe.bits)
  }

  /// One digit after the point, rounded down: never more than there is.
  static func text(_ bits: Double) -> String {
    let tenths = Int(bits * 10)
    return "\(tenths / 10).\(tenths % 10)"
  }
}
